// A trust rule as the server keeps it in memory: what it asks for, and what it gives.

import {
  type AccessKeyRestrictions,
  type RestrictionNames,
  restrictionsOf,
} from "@postern/api/access-key-restrictions";
import { issuerUrlOf } from "@postern/api/issuer-presets";
import { MAX_ISSUED_SECONDS, type TrustRule, type TrustRuleSpec } from "@postern/api/trust-rule";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { holdsCredential } from "@postern/apimachinery/text/redact-credentials";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { CelExpression } from "@postern/cel/cel-expression";
import { compileCondition } from "../../foundation/issuers/claim-conditions.ts";
import type { IssuerSource } from "../../foundation/issuers/issuer-source.ts";
import { digestOf, digestOfSpec, jsonOf } from "../../foundation/issuers/terms-digest.ts";
import type { AccessKeyOwner } from "../access-keys/access-key-owner.ts";
import type { KeyOrigin } from "../access-keys/key-origins.ts";
import { readOrigins } from "../access-keys/record/sealed-access-key.ts";
import type { SourceRanges } from "../access-keys/source-ranges.ts";
import { isPermissionSubset } from "../access-keys/validity/permission-subset.ts";

export type TrustRuleState = {
  /** In the store. */
  readonly key: string;
  /** Such as `clustertrustrules/deploy`, or `trustrules/p-team/deploy`. */
  readonly id: string;
  /** As requests name it: `deploy`, or `team/deploy`. */
  readonly title: string;
  readonly name: string;
  /** Undefined for a cluster-scoped rule. */
  readonly project: string | undefined;
  readonly uid: string;
  /** Disabled, or about to go. */
  readonly isOff: boolean;
  readonly source: IssuerSource;
  readonly audiences: readonly string[];
  readonly claims: readonly { readonly claim: string; readonly values: readonly string[] }[];
  readonly conditions: readonly {
    readonly expression: CelExpression;
    readonly source: string;
    readonly message: string;
  }[];
  readonly singleUse: boolean;
  readonly owner: AccessKeyOwner;
  readonly restrictions: AccessKeyRestrictions | undefined;
  /** Scope of an issued key, as its spec has it. */
  readonly grantedScope: NonNullable<TrustRuleSpec["scope"]> | undefined;
  readonly grantedRules: TrustRuleSpec["rules"];
  /** The source ranges of issued keys. */
  readonly sourceRanges: SourceRanges;
  readonly ttlSeconds: number;
  /** Digest of every field that decides which tokens get which keys. */
  readonly terms: string;
} & SealedTrustRule;

/** Data that is kept beside a rule and never served. */
export type SealedTrustRule = {
  /** The keys that the rule was written with, and their values. */
  readonly origins: readonly KeyOrigin[];
  /** uids of the keys that it dies with. */
  readonly parents: readonly string[];
  /** The uid that the user had when the rule came to name it: a later one of the same name gets no keys. */
  readonly userUid: string | undefined;
};

export const CLUSTER_TRUST_RULES = "clustertrustrules";
export const TRUST_RULES = "trustrules";

/** The id of a rule by where it is; `namespace` is "" for a cluster-scoped one. */
export const trustRuleId = (namespace: string, name: string): string =>
  namespace === "" ? `${CLUSTER_TRUST_RULES}/${name}` : `${TRUST_RULES}/${namespace}/${name}`;

/** `project` is that of the namespace; undefined for a cluster-scoped rule. Throws CelSyntaxError, which validation rules out. */
export function readTrustRule(
  object: CachedObject,
  project: string | undefined,
  names: RestrictionNames,
): TrustRuleState {
  // Stored objects have gone through the schema of their kind.
  const { metadata, spec } = object.decode() as TrustRule;
  const { name = "", namespace = "", uid = "" } = metadata;
  const scope = grantedScopeOf(spec, project);
  const restrictions = restrictionsOf(jsonOf({ scope, rules: spec.rules }), names);
  const isTooWide = project !== undefined && !isPermissionSubset(restrictions, projectBounds(project));
  return {
    key: object.key,
    id: trustRuleId(namespace, name),
    title: project === undefined ? name : `${project}/${name}`,
    name,
    project,
    uid,
    // Too wide a rule cannot be written; one that is there nevertheless gives nothing.
    isOff: spec.disabled === true || isBeingDeleted({ metadata }) || isTooWide,
    source: sourceOf(spec, project !== undefined),
    audiences: spec.audiences,
    claims: spec.claims ?? [],
    conditions: (spec.conditions ?? []).map(({ expression, message = "" }) => ({
      expression: compileCondition(expression),
      source: expression,
      message,
    })),
    singleUse: spec.singleUse === true,
    owner: { kind: "user", name: spec.user },
    restrictions,
    grantedScope: scope,
    grantedRules: spec.rules,
    sourceRanges: spec.allowedSourceRanges ?? [],
    ttlSeconds: spec.ttl ?? MAX_ISSUED_SECONDS,
    terms: termsOf(spec, project),
    ...readSealedTrustRule(object.decodeSealed()),
  };
}

/** A rule of a project gives nothing outside of it. */
export function grantedScopeOf(
  { scope }: Pick<TrustRuleSpec, "scope">,
  project: string | undefined,
): TrustRuleSpec["scope"] {
  if (project === undefined) return scope;
  // A scope with nothing but rules in it would leave all to them.
  const { rules = [], projects = [], virtualClusters = [], spaces = [] } = scope ?? {};
  const namesNothing = projects.length + virtualClusters.length + spaces.length === 0;
  if (scope !== undefined && !(namesNothing && rules.length > 0)) return scope;
  return { ...scope, projects: [{ project }] };
}

/** All that a rule of a project may give. */
export const projectBounds = (project: string): AccessKeyRestrictions => ({
  scope: { roles: [], projects: [{ project }], spaces: [], virtualClusters: [], clusters: [] },
  ruleSets: [],
});

/** `isTenants`: the rule is one of a project. */
export function sourceOf({ issuer }: TrustRuleSpec, isTenants: boolean): IssuerSource {
  const { discoveryURL, certificateAuthority, jwks } = issuer;
  const url = issuerUrlOf(issuer);
  const place = [url, discoveryURL ?? null, certificateAuthority ?? null, jwks ?? null, isTenants];
  return {
    id: digestOf(JSON.stringify(place)),
    issuer: url,
    discoveryURL,
    certificateAuthorityPem: certificateAuthority,
    jwks,
    isTenants,
  };
}

/** Everything except texts for people: a field that a later release adds counts as well. */
export function termsOf(
  { displayName: _, description: __, ...spec }: TrustRuleSpec,
  project: string | undefined,
): string {
  return digestOfSpec(spec, project ?? null);
}

export function readSealedTrustRule(sealed: JsonObject | undefined): SealedTrustRule {
  const { origins, parents, userUid } = sealed ?? {};
  return {
    origins: readOrigins(origins),
    parents: isJsonArray(parents) ? parents.filter((uid) => typeof uid === "string") : [],
    userUid: typeof userUid === "string" ? userUid : undefined,
  };
}

export const writeSealedTrustRule = ({ origins, parents, userUid }: SealedTrustRule): JsonObject => ({
  ...(origins.length === 0 ? {} : { origins: origins.map((made) => ({ ...made })) }),
  ...(parents.length === 0 ? {} : { parents }),
  ...(userUid === undefined ? {} : { userUid }),
});

/** Claims as texts, if they are short and no credentials: for the record of a key, and for users. */
export function shownClaims(claims: JsonObject): { readonly [name: string]: string } {
  let room = MAX_SHOWN;
  const shown: [string, string][] = [];
  for (const [name, value] of Object.entries(claims)) {
    const text = textOf(value);
    const size = name.length + text.length;
    if (text.length > MAX_SHOWN_VALUE || name.length > MAX_SHOWN_VALUE || size > room) continue;
    if (holdsCredential(text) || holdsCredential(name)) continue;
    room -= size;
    shown.push([name, text]);
  }
  return Object.fromEntries(shown);
}

const MAX_SHOWN = 4_096;
const MAX_SHOWN_VALUE = 256;

const textOf = (value: JsonValue | undefined): string =>
  typeof value === "string" ? value : isJsonObject(value) || isJsonArray(value) ? stringifyJson(value) : String(value);

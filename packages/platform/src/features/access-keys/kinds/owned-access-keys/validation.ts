// Validates access keys beyond the schema. Messages never repeat secret values.

import {
  canonicalRole,
  type RestrictionNames,
  restrictionNames,
  SCOPE_ROLES,
} from "@postern/api/access-key-restrictions";
import type { AccessKeySpec, OwnedAccessKey } from "@postern/api/owned-access-key";
import type { PlatformNames } from "@postern/api/platform-names";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import {
  childPath,
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  notFoundFieldError,
  notSupportedError,
  requiredError,
  tooManyError,
} from "@postern/apimachinery/validation/field-error";
import { type LabelSelector, validateLabelSelector } from "@postern/apimachinery/validation/labels";
import { parseIpNetwork } from "@postern/apiserver/transport/addresses/ip-networks";
import { isSystemName } from "../../../../foundation/kinds/system-name.ts";
import { validateGroups } from "../../../../foundation/kinds/validate-groups.ts";
import type { Directory } from "../../../directory/directory.ts";
import { ownerOf, sameOwner } from "../../access-key-owner.ts";
import { MAX_AUDIENCES } from "../../audiences.ts";
import { estimateEntropy, MIN_ENTROPY_BITS } from "../../chosen-values/estimate-entropy.ts";
import { anyKeyPlaces, ENVELOPED_FIELDS, secretAt, specOf } from "../../chosen-values/secret-fields.ts";
import { isJwkThumbprint, parseThumbprint } from "../../proofs/proof-of-possession.ts";
import type { AccessKeySecrets } from "../../secrets/access-key-secrets.ts";
import { MAX_KEY_LENGTH, MIN_KEY_LENGTH } from "../../secrets/find-keys-in-text.ts";
import { MAX_SOURCE_RANGES } from "../../source-ranges.ts";
import { MAX_TTL_SECONDS } from "../../validity/key-ttl.ts";
import { validateSecretRef } from "./delivery-secret.ts";
import { validateRules } from "./validate-rules.ts";

/** Stands in messages where a secret would. */
const HIDDEN = "<hidden>";
const KEY_REQUIRED = "the server generates keys for ownedaccesskeys only";
const UNFIT_KEY = `must have at least ${MIN_ENTROPY_BITS} bits of entropy, and must not have been used before: leave it unset, or generate it at random`;
const MADE_BY_SERVER = "has the format of generated values: leave it unset, and the server generates one";
const NO_KEY_HERE = "must not contain an access key";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export type ValidationDeps = {
  readonly names: PlatformNames;
  readonly directory: Directory;
  readonly secrets: Pick<AccessKeySecrets, "format">;
  /** Whether a text is a chosen value of one of the caller's keys; undefined if there are no chosen values. Nothing is revealed about other users'
   * keys, so that texts cannot be tested for being one. */
  readonly isOwnValue: ((text: string) => boolean) | undefined;
  /** Whether another key has the value that is set, or had it. */
  readonly isTaken: boolean;
  /** Whether a client chose it, and not the server. */
  readonly isChosen: boolean;
};

/** `old` is what an update starts from. */
export function validateAccessKey(
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  { names, directory, secrets, isOwnValue, isTaken, isChosen }: ValidationDeps,
): readonly FieldError[] {
  const { spec = {} } = object;
  const tooMany = validateSize(spec, old?.spec);
  // Everything below looks at each entry.
  if (tooMany.length > 0) return tooMany;
  return [
    ...validateOwner(spec, old, names, directory),
    ...validateGroups(spec.groups ?? [], "spec.groups"),
    // A new key has a value by now.
    ...(old === undefined && (spec.key ?? "") === "" ? [requiredError("spec.key", KEY_REQUIRED)] : []),
    ...validateKey(spec, isTaken, isChosen, secrets.format),
    ...(spec.ttl !== undefined && spec.ttl > MAX_TTL_SECONDS
      ? [invalidError("spec.ttl", spec.ttl, `must be less than or equal to ${MAX_TTL_SECONDS} seconds`)]
      : []),
    ...(spec.type === "Login" && old?.spec?.type !== "Login" && directory.user(spec.user ?? "")?.isBot === true
      ? [forbiddenError("spec.type", "a bot cannot sign in: leave it unset, or use Other")]
      : []),
    ...(spec.scope === undefined ? [] : validateScope(spec.scope, restrictionNames(names.name))),
    ...validateSourceRanges(spec.allowedSourceRanges ?? []),
    ...validateAudiences(spec.audiences ?? []),
    ...validateConfirmation(spec),
    ...validateSecretRef(spec),
    ...validateSamePlace(spec, old?.spec),
    ...validateRules(spec.rules ?? [], "spec.rules"),
    ...validateRules(spec.scope?.rules ?? [], "spec.scope.rules"),
    ...validateEnveloped(object),
    ...validateNoKeyElsewhere(object, old, { secrets, isOwnValue }),
  ];
}

export function validateSourceRanges(ranges: readonly string[]): readonly FieldError[] {
  const path = "spec.allowedSourceRanges";
  if (ranges.length > MAX_SOURCE_RANGES) return [tooManyError(path, ranges.length, MAX_SOURCE_RANGES)];
  return ranges.flatMap((range, at) => {
    if (parseIpNetwork(range) === undefined)
      return [invalidError(indexPath(path, at), range, "must be an IP address, or a network such as 10.20.0.0/16")];
    return ranges.indexOf(range) === at ? [] : [duplicateError(indexPath(path, at), range)];
  });
}

function validateConfirmation({ confirmation }: AccessKeySpec): readonly FieldError[] {
  if (confirmation === undefined) return [];
  const { certificateSHA256 = "", jwkThumbprint = "" } = confirmation;
  const path = "spec.confirmation.certificateSHA256";
  if (jwkThumbprint !== "") return validateJwkThumbprint(jwkThumbprint, certificateSHA256);
  if (certificateSHA256 === "") return [requiredError(path, "or spec.confirmation.jwkThumbprint")];
  return parseThumbprint(certificateSHA256) === undefined
    ? [invalidError(path, certificateSHA256, "must be a SHA-256 hash in hexadecimal or base64url")]
    : [];
}

function validateJwkThumbprint(thumbprint: string, certificate: string): readonly FieldError[] {
  const path = "spec.confirmation.jwkThumbprint";
  if (certificate !== "") return [forbiddenError(path, "may not be set with spec.confirmation.certificateSHA256")];
  return isJwkThumbprint(thumbprint)
    ? []
    : [invalidError(path, thumbprint, "must be the SHA-256 thumbprint of a JWK in base64url")];
}

function validateAudiences(audiences: readonly string[]): readonly FieldError[] {
  const path = "spec.audiences";
  if (audiences.length > MAX_AUDIENCES) return [tooManyError(path, audiences.length, MAX_AUDIENCES)];
  return audiences.flatMap((audience, at) => {
    if (audience === "") return [requiredError(indexPath(path, at))];
    if (audience.includes("*"))
      return [invalidError(indexPath(path, at), audience, "must be one name: audiences are compared exactly")];
    return audiences.indexOf(audience) === at ? [] : [duplicateError(indexPath(path, at), audience)];
  });
}

/** Another place would leave the old one behind with a value that nothing renews. */
function validateSamePlace({ secretRef }: AccessKeySpec, old: AccessKeySpec | undefined): readonly FieldError[] {
  if (old?.secretRef === undefined || equalJson(secretRef, old.secretRef)) return [];
  return [invalidError("spec.secretRef", secretRef ?? null, "field is immutable")];
}

/** Every request of a key looks through its scope and rules, and every child's are compared with its parent's, entry by entry. */
const MAX_RESTRICTIONS = 5_000;
const MAX_GROUPS = 1_000;
const SIZES = [
  ["scope", MAX_RESTRICTIONS],
  ["rules", MAX_RESTRICTIONS],
  ["groups", MAX_GROUPS],
] as const;

/** A key that was larger already may be changed, so that it can be disabled, and may not grow. */
export function validateSize(
  spec: Pick<AccessKeySpec, "scope" | "rules" | "groups">,
  old: Pick<AccessKeySpec, "scope" | "rules" | "groups"> = {},
): readonly FieldError[] {
  const faults: FieldError[] = [];
  for (const [member, max] of SIZES) {
    const count = countValues(spec[member]);
    if (count > max && count > countValues(old[member])) faults.push(tooManyError(`spec.${member}`, count, max));
  }
  return faults;
}

/** Everything at all levels. */
function countValues(value: JsonValue | undefined): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, member) => sum + countValues(member), 1);
}

/** A value anywhere but in spec.key is visible to everyone who may read the object. */
function validateNoKeyElsewhere(
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  { secrets, isOwnValue }: Pick<ValidationDeps, "secrets" | "isOwnValue">,
): readonly FieldError[] {
  const { key = "" } = object.spec ?? {};
  const { format } = secrets;
  const wanted = {
    key,
    hasForm: (text: string) => format.find(text),
    isLive: isOwnValue,
  };
  return anyKeyPlaces(object, old, wanted).map((path) => forbiddenError(path, NO_KEY_HERE));
}

function validateOwner(
  spec: AccessKeySpec,
  old: OwnedAccessKey | undefined,
  names: PlatformNames,
  directory: Directory,
): readonly FieldError[] {
  const { user = "", team = "", subject = "" } = spec;
  const given = [user, team, subject].filter((name) => name !== "");
  if (given.length === 0)
    return [requiredError("spec.user", "one of spec.user, spec.team and spec.subject must be set")];
  if (given.length > 1) {
    return [forbiddenError("spec", "only one of user, team and subject may be set")];
  }
  if (subject !== "") return validateSubject(subject, names, directory);
  if (old !== undefined && sameOwner(ownerOf(spec), ownerOf(old.spec ?? {}))) return [];
  if (user !== "" && directory.user(user) === undefined) return [notFoundFieldError("spec.user", user)];
  if (team !== "" && directory.team(team) === undefined) return [notFoundFieldError("spec.team", team)];
  return [];
}

/** A user or team of the directory must not be named as a subject, so that the key becomes invalid with it. */
function validateSubject(subject: string, names: PlatformNames, directory: Directory): readonly FieldError[] {
  const path = "spec.subject";
  if (isSystemName(subject)) return [invalidError(path, subject, "names that begin with system: are reserved")];
  for (const kind of ["user", "team"] as const) {
    const prefix = kind === "user" ? names.userGroup("") : names.teamGroup("");
    if (subject.startsWith(prefix)) return [invalidError(path, subject, `use spec.${kind} instead`)];
  }
  const known = directory.userBySubject(subject);
  return known === undefined ? [] : [invalidError(path, subject, `is the user ${known.name}: use spec.user instead`)];
}

/** `format`: of the values that the server makes. */
function validateKey(
  { key }: AccessKeySpec,
  isTaken: boolean,
  isChosen: boolean,
  format: AccessKeySecrets["format"],
): readonly FieldError[] {
  if (key === undefined || key === "") return [];
  const isOfServer = format.idOf(key) !== undefined;
  if (isOfServer && !isChosen && !isTaken) return [];
  if (key.length < MIN_KEY_LENGTH) {
    return [invalidError("spec.key", HIDDEN, `must have at least ${MIN_KEY_LENGTH} characters`)];
  }
  if (key.length > MAX_KEY_LENGTH) {
    return [invalidError("spec.key", HIDDEN, `must have at most ${MAX_KEY_LENGTH} characters`)];
  }
  if (!/^[!-~]+$/.test(key)) {
    return [invalidError("spec.key", HIDDEN, "must consist of visible ASCII characters, as it is sent in a header")];
  }
  // So a generated value can never be set again, although values of deleted keys are not remembered.
  if (isOfServer && isChosen) return [invalidError("spec.key", HIDDEN, MADE_BY_SERVER)];
  // One text for both: it must not reveal whether a value is in use or only weak.
  return isTaken || estimateEntropy(key) < MIN_ENTROPY_BITS ? [unfitKeyError()] : [];
}

/** The refusal of a value that no key can have. It never says why. */
export const unfitKeyError = (): FieldError => invalidError("spec.key", HIDDEN, UNFIT_KEY);

function validateEnveloped(object: OwnedAccessKey): readonly FieldError[] {
  const spec = specOf(object);
  return ENVELOPED_FIELDS.flatMap((path) => {
    const value = secretAt(spec, path);
    return value === undefined || BASE64.test(value)
      ? []
      : [invalidError(`spec.${path.join(".")}`, HIDDEN, "must be base64")];
  });
}

export function validateScope(scope: AccessKeySpec["scope"], aliases: RestrictionNames): readonly FieldError[] {
  if (scope === undefined) return [];
  const { roles = [], projects = [], spaces = [], virtualClusters = [], clusters = [] } = scope;
  const path = "spec.scope";
  return [
    ...roles.flatMap((entry, index) => validateRole(entry, indexPath(`${path}.roles`, index), aliases)),
    ...projects.flatMap((entry, index) => namedMembers(entry, ["project"], indexPath(`${path}.projects`, index))),
    ...spaces.flatMap((entry, index) => namedMembers(entry, ["project", "space"], indexPath(`${path}.spaces`, index))),
    ...virtualClusters.flatMap((entry, index) =>
      validateVirtualCluster(entry, indexPath(`${path}.virtualClusters`, index)),
    ),
    ...validateSelectors(virtualClusters, `${path}.virtualClusters`),
    ...clusters.flatMap((entry, index) => namedMembers(entry, ["cluster"], indexPath(`${path}.clusters`, index))),
  ];
}

type VirtualClusterEntry = NonNullable<NonNullable<AccessKeySpec["scope"]>["virtualClusters"]>[number];

function validateVirtualCluster(entry: VirtualClusterEntry, path: string): readonly FieldError[] {
  const { project = "", virtualCluster = "", selector } = entry;
  if (selector === undefined) return namedMembers({ project, virtualCluster }, ["project", "virtualCluster"], path);
  const at = childPath(path, "selector");
  return [
    ...validateName(project, childPath(path, "project")),
    // A server of an earlier release reads the name alone.
    ...(virtualCluster.includes("*")
      ? [
          invalidError(
            childPath(path, "virtualCluster"),
            virtualCluster,
            "must be one name, or unset, beside a selector",
          ),
        ]
      : []),
    ...(requirementsIn(selector) === 0
      ? [requiredError(at, "an empty selector would select all: set virtualCluster to * for that")]
      : validateLabelSelector(selector, at)),
  ];
}

const requirementsIn = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): number =>
  Object.keys(matchLabels).length + matchExpressions.length;

/** Keys and values of all selectors of a scope: each request, and each virtual cluster of a list, may be compared with all of them. */
const MAX_SELECTOR_VALUES = 100;

function validateSelectors(entries: readonly VirtualClusterEntry[], path: string): readonly FieldError[] {
  const count = entries.reduce((sum, { selector }) => {
    if (selector === undefined) return sum;
    const { matchLabels = {}, matchExpressions = [] } = selector;
    const inExpressions = matchExpressions.reduce((all, { values = [] }) => all + 1 + values.length, 0);
    return sum + 2 * Object.keys(matchLabels).length + inExpressions;
  }, 0);
  const text = `the selectors have ${count} keys and values together, and at most ${MAX_SELECTOR_VALUES} are allowed`;
  return count > MAX_SELECTOR_VALUES ? [forbiddenError(path, text)] : [];
}

type Role = NonNullable<NonNullable<AccessKeySpec["scope"]>["roles"]>[number];

function validateRole(entry: Role, path: string, aliases: RestrictionNames): readonly FieldError[] {
  const { role = "", projects = [], virtualClusters = [] } = entry;
  const known: readonly string[] = SCOPE_ROLES;
  return [
    ...(role === "" ? [requiredError(childPath(path, "role"))] : []),
    ...(role !== "" && !known.includes(canonicalRole(role, aliases))
      ? [notSupportedError(childPath(path, "role"), role, known)]
      : []),
    ...wholeNames(projects, childPath(path, "projects")),
    ...wholeNames(virtualClusters, childPath(path, "virtualClusters")),
  ];
}

function wholeNames(names: readonly string[], path: string): readonly FieldError[] {
  const seen = new Set<string>();
  return names.flatMap((name, index) => {
    const at = indexPath(path, index);
    const errors = seen.has(name) ? [duplicateError(at, name)] : validateName(name, at);
    seen.add(name);
    return errors;
  });
}

const namedMembers = (
  entry: { readonly [member: string]: string | undefined },
  members: readonly string[],
  path: string,
): readonly FieldError[] => members.flatMap((member) => validateName(entry[member] ?? "", childPath(path, member)));

function validateName(name: string, path: string): readonly FieldError[] {
  if (name === "") return [requiredError(path)];
  return name !== "*" && name.includes("*") ? [invalidError(path, name, "* counts only as the whole value")] : [];
}

// The parents of a new access key, from the credential of the request and never from client input.

import type { AccessKeySpec } from "@postern/api/owned-access-key";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { isFrontProxyCredential } from "../../../../foundation/http/front-proxy-credential.ts";
import { keyNotFoundError } from "../../access-key-refusal.ts";
import { type AccessKeyState, SESSION_TYPE } from "../../access-key-state.ts";
import { type Audiences, commonAudiences } from "../../audiences.ts";
import type { AccessKeyIndex } from "../../index/access-key-index.ts";
import { confirmationSpec, readConfirmation } from "../../proofs/proof-of-possession.ts";
import { commonRanges, type SourceRanges } from "../../source-ranges.ts";
import { MAX_ANCESTORS } from "../../validity/key-expirations.ts";
import { type DefaultTTLs, effectiveTTL, isLongerTTL } from "../../validity/key-ttl.ts";

/** The resources whose create makes a key that is its owner's own, rather than a part of something else, such as a kubeconfig. */
const KEY_RESOURCES: readonly string[] = ["ownedaccesskeys", "accesskeys"];

export const createsKeyDirectly = ({ info }: Pick<RequestContext, "info">): boolean =>
  KEY_RESOURCES.includes(info.resource) && info.subresource === "";

/**
 * The key that a request came in with; undefined for the server's own work, and for users of another cluster. Throws ApiError 401 if it was deleted meanwhile: without it the limits of
 * the request are unknown.
 */
export function keyOfRequest(
  { credential }: Pick<RequestContext, "credential">,
  keys: Pick<AccessKeyIndex, "byId">,
): AccessKeyState | undefined {
  if (credential === undefined || isFrontProxyCredential(credential)) return undefined;
  const key = keys.byId(credential.id);
  if (key === undefined) throw keyNotFoundError("the key of the request does not exist", credential.id);
  return key;
}

/**
 * Keys that are created with a limited key, or with one that a trust rule issued, never have more permissions or a later expiration than it. Keys
 * that people make for programs while they are signed in outlast the session, as those that they make with any other key of theirs.
 */
export const bindsItsChildren = ({
  restrictions,
  sourceRanges,
  audiences,
  confirmation,
  grant,
}: Pick<AccessKeyState, "restrictions" | "sourceRanges" | "audiences" | "confirmation" | "grant">): boolean =>
  restrictions !== undefined ||
  sourceRanges.length > 0 ||
  audiences.length > 0 ||
  confirmation !== "" ||
  (grant !== undefined && grant.login === undefined);

export type LineageDeps = {
  readonly keys: Pick<AccessKeyIndex, "byId" | "byUid">;
  readonly configuration: { readonly accessKeys: DefaultTTLs & { readonly maxTTLSeconds: number } };
};

/**
 * Whether what is created with this key becomes invalid with it, even if the key has no other limit (ADR 132): its TTL is shorter than the default, or it is
 * being deleted. A key that was itself created with one, such as a session that began with it, is as limited.
 */
export function passesItsEndOn(key: AccessKeyState, deps: LineageDeps, depth = 0): boolean {
  // In the grace period of its deletion it has an end as well.
  if (bindsItsChildren(key) || key.deletedFrom !== undefined) return true;
  // People who sign in get sessions of hours, to create keys for their programs.
  if (key.grant !== undefined || depth > MAX_ANCESTORS) return false;
  const parents = key.parentUids.flatMap((uid) => deps.keys.byUid(uid) ?? []);
  if (parents.length > 0) return parents.some((parent) => passesItsEndOn(parent, deps, depth + 1));
  const { defaultTTLSeconds, maxTTLSeconds } = deps.configuration.accessKeys;
  return isLongerTTL(
    { ttl: effectiveTTL(defaultTTLSeconds, maxTTLSeconds), countsFromActivity: false },
    { ttl: effectiveTTL(key.ttl ?? 0, maxTTLSeconds), countsFromActivity: false },
  );
}

/** A key becomes invalid with the limited key that created it; one of another request than a create of keys, with any key. */
export function parentsOf(
  context: Pick<RequestContext, "credential" | "info">,
  deps: LineageDeps,
): readonly AccessKeyState[] {
  const maker = keyOfRequest(context, deps.keys);
  if (maker === undefined) return [];
  return createsKeyDirectly(context) ? limitingMakersOf(maker, deps) : [maker];
}

/** With which keys a key or a trust rule ends that this key creates. */
export const limitingMakersOf = (maker: AccessKeyState, deps: LineageDeps): readonly AccessKeyState[] =>
  makersOf(maker, deps).filter((key) => passesItsEndOn(key, deps));

/** In a session that began with a key, keys are made as with that key itself: signing out ends none of them (ADR 132). */
export function makersOf(key: AccessKeyState, deps: Pick<LineageDeps, "keys">, depth = 0): readonly AccessKeyState[] {
  const isSession = key.type === SESSION_TYPE && key.grant === undefined && key.deletedFrom === undefined;
  if (!isSession || bindsItsChildren(key) || depth > MAX_ANCESTORS) return [key];
  const parents = key.parentUids.flatMap((uid) => deps.keys.byUid(uid) ?? []);
  return parents.length === 0 ? [key] : parents.flatMap((parent) => makersOf(parent, deps, depth + 1));
}

/** As a key is accepted from no other addresses than its parents, it is by no other receivers. Throws ApiError 403 where none would be left. */
export const withBoundsOf = (parents: readonly AccessKeyState[], spec: AccessKeySpec): AccessKeySpec =>
  withConfirmationOf(parents, withAudiencesOf(parents, withRangesOf(parents, spec)));

/** It may be bound to a certificate or key pair of its own. */
function withConfirmationOf(parents: readonly AccessKeyState[], spec: AccessKeySpec): AccessKeySpec {
  if (readConfirmation(spec.confirmation) !== "") return spec;
  const bonds = new Set(parents.map(({ confirmation }) => confirmation).filter((one) => one !== ""));
  if (bonds.size > 1)
    throw forbiddenRequestError(
      { group: "", resource: "ownedaccesskeys" },
      "",
      "the access keys that it would be created with are bound to different client certificates or key pairs",
    );
  const [bond] = bonds;
  return bond === undefined ? spec : { ...spec, confirmation: confirmationSpec(bond) };
}

function withAudiencesOf(parents: readonly AccessKeyState[], spec: AccessKeySpec): AccessKeySpec {
  if (spec.audiences !== undefined && spec.audiences.length > 0) return spec;
  let audiences: Audiences = [];
  for (const parent of parents) {
    const common = commonAudiences(audiences, parent.audiences);
    if (common === undefined)
      throw forbiddenRequestError(
        { group: "", resource: "ownedaccesskeys" },
        "",
        "the access keys that it would be created with have no audience in common",
      );
    audiences = common;
  }
  return audiences.length === 0 ? spec : { ...spec, audiences: [...audiences] };
}

/** A key is accepted from nowhere that its parents are not. Throws ApiError 403 where nowhere would be left. */
function withRangesOf(parents: readonly AccessKeyState[], spec: AccessKeySpec): AccessKeySpec {
  if (spec.allowedSourceRanges !== undefined && spec.allowedSourceRanges.length > 0) return spec;
  let ranges: SourceRanges = [];
  for (const { sourceRanges } of parents) {
    const common = commonRanges(ranges, sourceRanges);
    if (common === undefined)
      throw forbiddenRequestError(
        { group: "", resource: "ownedaccesskeys" },
        "",
        "the access keys that it would be created with have no address in common",
      );
    ranges = common;
  }
  return ranges.length === 0 ? spec : { ...spec, allowedSourceRanges: [...ranges] };
}

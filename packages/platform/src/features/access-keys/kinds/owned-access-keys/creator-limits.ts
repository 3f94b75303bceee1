// Limits for the writer of a key: no key has more permissions than its creator.

import { restrictionNames, restrictionsOf } from "@postern/api/access-key-restrictions";
import type { AccessKeySpec, OwnedAccessKey } from "@postern/api/owned-access-key";
import type { PlatformNames } from "@postern/api/platform-names";
import { type ApiError, forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { type Awaitable, whenDone } from "@postern/apiserver/runtime/awaitable";
import type { Configuration } from "../../../../foundation/config/configuration.ts";
import { isFrontProxyCredential } from "../../../../foundation/http/front-proxy-credential.ts";
import { mayDo } from "../../../../foundation/kinds/may-do.ts";
import { mayImpersonate, mayImpersonateGroup } from "../../../authorization/impersonation.ts";
import type { Directory } from "../../../directory/directory.ts";
import type { AccessKeyOwner } from "../../access-key-owner.ts";
import { ownerOf, ownerOfCaller, sameOwner } from "../../access-key-owner.ts";
import type { AccessKeyState } from "../../access-key-state.ts";
import { specOf } from "../../chosen-values/secret-fields.ts";
import type { AccessKeyIndex } from "../../index/access-key-index.ts";
import { readConfirmation } from "../../proofs/proof-of-possession.ts";
import { exceededBound, type KeyBounds } from "../../validity/key-bounds.ts";
import { defaultTTLOf, effectiveTTL, isLongerTTL, type KeyTTL } from "../../validity/key-ttl.ts";
import { isPermissionSubset } from "../../validity/permission-subset.ts";

import { bindsItsChildren, createsKeyDirectly, keyOfRequest, makersOf, passesItsEndOn } from "./lineage.ts";

export type CreatorLimitsDeps = {
  readonly names: PlatformNames;
  readonly keys: AccessKeyIndex;
  readonly directory: Directory;
  readonly authorizer: Authorizer;
  readonly configuration: Pick<Configuration, "accessKeys" | "frontProxy">;
};

/** Seconds above which a TTL requires the verb `extend`; 0: any length is allowed. */
function ttlOfCreator(
  { credential }: Pick<RequestContext, "credential">,
  { accessKeys: { defaultTTLSeconds, maxTTLSeconds }, frontProxy }: CreatorLimitsDeps["configuration"],
): number {
  const ttl = effectiveTTL(defaultTTLSeconds, maxTTLSeconds);
  if (!isFrontProxyCredential(credential)) return ttl;
  // The other cluster decides who its users are: what they keep here ends soon.
  const { credentialTTLSeconds } = frontProxy;
  return ttl === 0 ? credentialTTLSeconds : Math.min(ttl, credentialTTLSeconds);
}

/** The verb on access keys for extending the TTL, or setting one above the default. */
const EXTEND_VERB = "extend";
/** Their writers are checked as those of keys are. */
const RULES: readonly string[] = ["trustrules", "clustertrustrules"];

/** The key that a request came in with, where what it makes must stay within it. */
function narrowedKeyOf(context: RequestContext, keys: AccessKeyIndex): AccessKeyState | undefined {
  const key = keyOfRequest(context, keys);
  return key !== undefined && bindsItsChildren(key) ? key : undefined;
}

/** Throws 403 where the caller reaches beyond itself. `old` is what an update starts from. */
export const checkCreator = (
  context: RequestContext,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  deps: CreatorLimitsDeps,
): Awaitable<void> =>
  whenDone(creatorError(context, object, old, deps), (fault) => {
    if (fault !== undefined) throw keyRefusedError(object, deps, fault);
  });

export const keyRefusedError = (
  { metadata }: OwnedAccessKey,
  { names }: { readonly names: Pick<PlatformNames, "managementGroup"> },
  why: string,
): ApiError =>
  forbiddenRequestError({ group: names.managementGroup, resource: "ownedaccesskeys" }, metadata.name ?? "", why);

/**
 * Why the caller may not create this key for its owner; undefined if it may. Trust rules are checked the same way, for the keys that they issue.
 * `mayBe` says which other owners the caller may create keys for.
 */
export function creatorError(
  context: RequestContext,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  deps: CreatorLimitsDeps,
  mayBe: () => Promise<boolean> = async () => false,
): Awaitable<string | undefined> {
  if (!isFrontProxyCredential(context.credential)) return faultOfCreator(context, object, old, deps, mayBe);
  return whenDone(
    faultOfOtherCluster(context, object, old, deps),
    (fault) => fault ?? faultOfCreator(context, object, old, deps, mayBe),
  );
}

function faultOfCreator(
  context: RequestContext,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  deps: CreatorLimitsDeps,
  mayBe: () => Promise<boolean>,
): Awaitable<string | undefined> {
  const narrowed = narrowedKeyOf(context, deps.keys);
  const fault =
    narrowed === undefined ? faultOfShort(context, object, old, deps) : faultOfNarrowed(narrowed, object, old, deps);
  if (fault !== undefined) return fault;
  const isOwner = mayHave(context, object, old, deps);
  const groups = foreignGroups(context, object, old);
  const faultOfOthers = async (): Promise<string | undefined> => {
    const ownerFault = isOwner ? undefined : await faultOfOwner(context, object, deps);
    if (ownerFault !== undefined && !(await mayBe())) return ownerFault;
    const group = await firstRefusedGroup(context, groups, deps);
    if (group === undefined) return undefined;
    return `you are not in the group ${JSON.stringify(group)} and may not impersonate it`;
  };
  // Nearly always the caller has what its key gets.
  return whenDone(
    isOwner && groups.length === 0 ? undefined : faultOfOthers(),
    (found) => found ?? faultOfLife(context, object, old, narrowed, deps),
  );
}

/** True if the write sets a value that its sender knows. */
const setsKey = ({ spec }: OwnedAccessKey, old: OwnedAccessKey | undefined): boolean =>
  old === undefined || (spec?.key ?? "") !== "";

/** Whether the caller may make the key for its owner without impersonating it. */
function mayHave(
  context: RequestContext,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  { names, directory }: Pick<CreatorLimitsDeps, "names" | "directory">,
): boolean {
  const owner = ownerOf(object.spec ?? {});
  // Validation says so.
  if (owner === undefined) return true;
  const changes = old === undefined || !sameOwner(owner, ownerOf(old.spec ?? {}));
  if (!changes && !setsKey(object, old)) return true;
  if (sameOwner(owner, ownerOfCaller(context.user, directory, names)) && isWholly(owner, context, directory, names)) {
    return true;
  }
  // Members manage the keys of their team, but only callers that may impersonate it create new ones.
  return !changes && isMember(owner, context, names);
}

async function faultOfOwner(
  context: RequestContext,
  { spec }: OwnedAccessKey,
  { names, authorizer }: Pick<CreatorLimitsDeps, "names" | "authorizer">,
): Promise<string | undefined> {
  const owner = ownerOf(spec ?? {});
  if (owner === undefined || (await mayImpersonate(owner, context, { authorizer, names }))) return undefined;
  return `you may not impersonate the ${owner.kind} ${JSON.stringify(owner.name)}`;
}

/** A caller that acts as a user without the user's groups has not been let into those, and makes no key that is in them. */
function isWholly(
  owner: AccessKeyOwner,
  { user }: RequestContext,
  directory: Directory,
  names: PlatformNames,
): boolean {
  if (owner.kind !== "user") return true;
  const teams = directory.teamsOf(owner.name).map(({ name }) => names.teamGroup(name));
  const groups = [...(directory.user(owner.name)?.groups ?? []), ...teams, names.userGroup(owner.name)];
  return groups.every((group) => user.groups.includes(group));
}

const isMember = (owner: AccessKeyOwner, { user }: RequestContext, names: PlatformNames): boolean =>
  owner.kind === "team" && user.groups.includes(names.teamGroup(owner.name));

/** Those that the key is to have, and that the caller is not in. */
function foreignGroups(
  { user }: RequestContext,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
): readonly string[] {
  const before = setsKey(object, old) ? [] : (old?.spec?.groups ?? []);
  return (object.spec?.groups ?? []).filter((group) => !before.includes(group) && !user.groups.includes(group));
}

async function firstRefusedGroup(
  context: RequestContext,
  groups: readonly string[],
  { authorizer }: Pick<CreatorLimitsDeps, "authorizer">,
): Promise<string | undefined> {
  for (const group of groups) if (!(await mayImpersonateGroup(group, context, authorizer))) return group;
  return undefined;
}

/**
 * Of users of another cluster there are as many as it likes: those without a User here have no keys to manage. And where a key that they create ends
 * soon, they get no new value of one that works longer.
 */
function faultOfOtherCluster(
  context: RequestContext,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  deps: CreatorLimitsDeps,
): Awaitable<string | undefined> {
  if (old !== undefined) {
    const { expiresAt = Number.POSITIVE_INFINITY } = deps.keys.byUid(old.metadata.uid ?? "") ?? {};
    const latest = context.receivedAt + deps.configuration.frontProxy.credentialTTLSeconds * 1000;
    if (!setsKey(object, old) || expiresAt <= latest) return undefined;
    const fault = `users of another cluster cannot rotate a key that works for longer than --requestheader-credential-ttl-seconds; that requires the verb ${EXTEND_VERB} on ownedaccesskeys`;
    return mayExtend(context, old, deps).then((may) => (may ? undefined : fault));
  }
  if (RULES.includes(context.info.resource)) {
    const fault = `a trust rule issues keys for as long as it is there: users of another cluster need the verb ${EXTEND_VERB} on ownedaccesskeys for it`;
    return mayExtend(context, object, deps).then((may) => (may ? undefined : fault));
  }
  if (!createsKeyDirectly(context)) return undefined;
  const caller = ownerOfCaller(context.user, deps.directory, deps.names);
  if (caller.kind !== "subject" || !sameOwner(ownerOf(object.spec ?? {}), caller)) return undefined;
  return "users of another cluster have no access keys of their own: request a kubeconfig, or have an administrator give your user name to a User as its spec.subject";
}

function boundsOf(key: OwnedAccessKey): KeyBounds {
  const { allowedSourceRanges = [], audiences = [], confirmation } = specOf(key) as AccessKeySpec;
  return { sourceRanges: allowedSourceRanges, audiences, confirmation: readConfirmation(confirmation) };
}

const BEYOND_CREATOR: { readonly [bound in keyof KeyBounds]: string } = {
  sourceRanges: "spec.allowedSourceRanges: must be within those of the access key of the request, which has some",
  audiences: "spec.audiences: must be among those of the access key of the request, which has some",
  confirmation:
    "spec.confirmation: must be bound to a client certificate or to a key pair, as the access key of the request is",
};
const BEYOND_BEFORE: { readonly [bound in keyof KeyBounds]: string } = {
  sourceRanges: "it is accepted from more addresses than the access key of the request",
  audiences: "it is accepted by more audiences than the access key of the request",
  confirmation: "it is bound to no client certificate or key pair, and the access key of the request is",
};

function faultOfNarrowed(
  creator: AccessKeyState,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  { names, keys }: Pick<CreatorLimitsDeps, "names" | "keys">,
): string | undefined {
  const aliases = restrictionNames(names.name);
  const fits = (key: OwnedAccessKey) => isPermissionSubset(restrictionsOf(specOf(key), aliases), creator.restrictions);
  if (!sameOwner(ownerOf(object.spec ?? {}), creator.owner)) {
    return "a scoped access key can create and change only keys of its own owner";
  }
  if (!fits(object)) return "it would have more permissions than the access key of the request";
  const exceeded = exceededBound(boundsOf(object), creator);
  if (exceeded !== undefined) return BEYOND_CREATOR[exceeded];
  const foreign = (object.spec?.groups ?? []).find(
    (group) => !(old?.spec?.groups ?? []).includes(group) && !creator.groups.includes(group),
  );
  if (foreign !== undefined) return `the access key of the request does not have the group ${JSON.stringify(foreign)}`;
  if (old === undefined) return undefined;
  if (!fits(old)) return "it has more permissions than the access key of the request";
  const exceededBefore = exceededBound(boundsOf(old), creator);
  if (exceededBefore !== undefined) return BEYOND_BEFORE[exceededBefore];
  const isOwnOrChild =
    old.metadata.uid === creator.uid || keys.byUid(old.metadata.uid ?? "")?.parentUids.includes(creator.uid) === true;
  if ((object.spec?.key ?? "") !== "" && !isOwnOrChild) {
    return "a scoped access key can rotate only itself and keys created with it";
  }
  return undefined;
}

/** A key whose children end with it cannot give a new value to a key that works longer: its holder would have that value. */
function faultOfShort(
  context: RequestContext,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  deps: Pick<CreatorLimitsDeps, "keys" | "configuration">,
): string | undefined {
  const creator = keyOfRequest(context, deps.keys);
  if (creator === undefined || old === undefined || !setsKey(object, old) || !passesItsEndOn(creator, deps))
    return undefined;
  const { uid, parentUids } = creator;
  const target = deps.keys.byUid(old.metadata.uid ?? "");
  const makers = [creator, ...makersOf(creator, deps)];
  const isRelated =
    target === undefined ||
    target.uid === uid ||
    parentUids.includes(target.uid) ||
    makers.some((maker) => target.parentUids.includes(maker.uid));
  const endOf = ({ expiresAt = Number.POSITIVE_INFINITY }: AccessKeyState): number => expiresAt;
  if (isRelated || endOf(target) <= endOf(creator)) return undefined;
  return "an access key with a TTL below the default cannot rotate a key that expires later";
}

/** Callers that may change the key may shorten its TTL. A longer TTL than before, or than the default, requires the verb `extend`. */
function faultOfLife(
  context: RequestContext,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  narrowed: AccessKeyState | undefined,
  deps: CreatorLimitsDeps,
): Awaitable<string | undefined> {
  const { configuration, keys } = deps;
  const { maxTTLSeconds } = configuration.accessKeys;
  const absentTTL = defaultTTLOf(ownerOf(object.spec ?? {}), configuration.accessKeys);
  const lifeOf = ({ spec }: OwnedAccessKey, defaultTTL: number): KeyTTL => ({
    ttl: effectiveTTL(Number(spec?.ttl ?? defaultTTL), maxTTLSeconds),
    countsFromActivity: spec?.ttlAfterLastActivity === true,
  });
  if (old === undefined) {
    const granted = {
      ttl: ttlOfCreator(context, configuration),
      countsFromActivity: !isFrontProxyCredential(context.credential),
    };
    // Keys of other requests than a create of keys are already limited to this.
    if (!isLongerTTL(lifeOf(object, absentTTL), granted)) return undefined;
    const fault = `spec.ttl: at most ${granted.ttl} seconds are allowed; a longer TTL requires the verb ${EXTEND_VERB} on ownedaccesskeys`;
    return narrowed === undefined ? mayExtend(context, object, deps).then((may) => (may ? undefined : fault)) : fault;
  }
  const known = keys.byUid(old.metadata.uid ?? "")?.defaultTTL;
  const before = lifeOf(old, known ?? 0);
  const after = lifeOf(object, known ?? (old.spec?.ttl === undefined ? 0 : absentTTL));
  if (!isLongerTTL(after, before)) return undefined;
  if (narrowed !== undefined) return "a scoped access key cannot extend the TTL of a key";
  const fault = `extending the TTL of an access key requires the verb ${EXTEND_VERB} on ownedaccesskeys`;
  return mayExtend(context, old, deps).then((may) => (may ? undefined : fault));
}

/**
 * The maximum TTL of keys that were requested without one: keys of other requests, such as for kubeconfigs, and keys of machines, which may never
 * expire.
 */
export function grantedTTL(
  context: RequestContext,
  object: OwnedAccessKey,
  deps: CreatorLimitsDeps,
): Awaitable<OwnedAccessKey> {
  const limit = ttlOfCreator(context, deps.configuration);
  const { spec } = object;
  const absentTTL = defaultTTLOf(ownerOf(spec ?? {}), deps.configuration.accessKeys);
  const wanted = Number(spec?.ttl ?? (createsKeyDirectly(context) ? absentTTL : 0));
  const isTooLong = wanted === 0 || wanted > limit;
  const asksForLife = createsKeyDirectly(context) && spec?.ttl !== undefined;
  if (limit <= 0 || asksForLife || !isTooLong) return object;
  const limited = { ...object, spec: { ...spec, ttl: limit } };
  if (narrowedKeyOf(context, deps.keys) !== undefined) return limited;
  return mayExtend(context, object, deps).then((may) => (may ? object : limited));
}

async function mayExtend(
  context: RequestContext,
  { metadata: { name = "" } }: OwnedAccessKey,
  { authorizer, names }: Pick<CreatorLimitsDeps, "authorizer" | "names">,
): Promise<boolean> {
  for (const [apiGroup, resource] of [
    [names.managementGroup, "ownedaccesskeys"],
    [names.storageGroup, "accesskeys"],
  ] as const) {
    if (await mayDo(context, { verb: EXTEND_VERB, apiGroup, resource, name }, authorizer)) return true;
  }
  return false;
}

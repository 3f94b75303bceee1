// What whoever makes or changes a key must be allowed to: nobody hands out more than they have.

import type { ApiError } from "@postern/apimachinery/meta/api-error";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/chain/handler";
import type { AccessKeyIndex } from "../../access-keys/access-key-index.ts";
import { ownerOf, ownerOfCaller, sameOwner } from "../../access-keys/access-key-owner.ts";
import { restrictionNames, restrictionsOf } from "../../access-keys/access-key-restrictions.ts";
import type { AccessKeyOwner, AccessKeyState } from "../../access-keys/access-key-state.ts";
import { isWithin } from "../../access-keys/is-within.ts";
import { endOfLife } from "../../access-keys/key-lifetime.ts";
import type { Directory } from "../../directory/directory.ts";
import type { PlatformNames } from "../../platform-names.ts";
import { mayImpersonate, mayImpersonateGroup } from "../impersonation.ts";
import type { KeyQuota } from "./key-quota.ts";
import type { OwnedAccessKey } from "./owned-access-key.ts";
import { specOf } from "./secret-fields.ts";

export type CreatorLimitsDependencies = {
  readonly names: PlatformNames;
  readonly keys: AccessKeyIndex;
  readonly directory: Directory;
  readonly authorizer: Authorizer;
  readonly keyQuota: Pick<KeyQuota, "faultOf">;
};

/** The key that a request came in with, where it is narrowed: what it makes must stay within it. */
export function narrowedKeyOf({ credential }: RequestContext, keys: AccessKeyIndex): AccessKeyState | undefined {
  const key = credential === undefined ? undefined : keys.byId(credential.id);
  return key?.restrictions === undefined ? undefined : key;
}

/** Throws 403 where the caller reaches beyond itself. `old` is what an update starts from. */
export async function checkCreator(
  context: RequestContext,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  dependencies: CreatorLimitsDependencies,
): Promise<void> {
  const { names, keys } = dependencies;
  const refuse = (why: string): ApiError =>
    forbiddenRequestError(
      { group: names.managementGroup, resource: "ownedaccesskeys" },
      object.metadata.name ?? "",
      why,
    );
  const narrowed = narrowedKeyOf(context, keys);
  if (narrowed !== undefined) {
    const fault = faultOfNarrowed(narrowed, object, old, dependencies);
    if (fault !== undefined) throw refuse(fault);
  }
  const ownerFault = await faultOfOwner(context, object, old, dependencies);
  if (ownerFault !== undefined) throw refuse(ownerFault);
  const group = await firstForeignGroup(context, object, old, dependencies);
  if (group !== undefined) throw refuse(`you are not in the group ${JSON.stringify(group)} and may not impersonate it`);
  // Who may not make the key neither waits for others nor is told how many there are.
  const quotaFault = await dependencies.keyQuota.faultOf(object, old, context);
  if (quotaFault !== undefined) throw refuse(quotaFault);
}

/** True when the write gives somebody a value that they know. */
const setsKey = ({ spec }: OwnedAccessKey, old: OwnedAccessKey | undefined): boolean =>
  old === undefined || (spec?.key ?? "") !== "";

async function faultOfOwner(
  context: RequestContext,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  { names, directory, authorizer }: CreatorLimitsDependencies,
): Promise<string | undefined> {
  const owner = ownerOf(object.spec ?? {});
  // Validation says so.
  if (owner === undefined) return undefined;
  const changes = old === undefined || !sameOwner(owner, ownerOf(old.spec ?? {}));
  if (!changes && !setsKey(object, old)) return undefined;
  if (sameOwner(owner, ownerOfCaller(context.user, directory, names))) return undefined;
  // Members look after the keys of their team, but only who may impersonate it makes new ones.
  if (!changes && isMember(owner, context, names)) return undefined;
  if (await mayImpersonate(owner, context, { authorizer, names })) return undefined;
  return `you may not impersonate the ${owner.kind} ${JSON.stringify(owner.name)}`;
}

const isMember = (owner: AccessKeyOwner, { user }: RequestContext, names: PlatformNames): boolean =>
  owner.kind === "team" && user.groups.includes(names.teamGroup(owner.name));

async function firstForeignGroup(
  context: RequestContext,
  { spec, ...rest }: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  { authorizer }: CreatorLimitsDependencies,
): Promise<string | undefined> {
  const before = setsKey({ spec, ...rest } as OwnedAccessKey, old) ? [] : (old?.spec?.groups ?? []);
  for (const group of spec?.groups ?? []) {
    if (before.includes(group) || context.user.groups.includes(group)) continue;
    if (!(await mayImpersonateGroup(group, context, authorizer))) return group;
  }
  return undefined;
}

function faultOfNarrowed(
  creator: AccessKeyState,
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  { names, keys }: CreatorLimitsDependencies,
): string | undefined {
  const aliases = restrictionNames(names.name);
  const fits = (key: OwnedAccessKey) => isWithin(restrictionsOf(specOf(key), aliases), creator.restrictions);
  if (!sameOwner(ownerOf(object.spec ?? {}), creator.owner)) {
    return "a narrowed access key makes and changes keys of its own owner only";
  }
  if (!fits(object)) return "it would reach beyond the access key that the request came in with";
  const foreign = (object.spec?.groups ?? []).find(
    (group) => !(old?.spec?.groups ?? []).includes(group) && !creator.groups.includes(group),
  );
  if (foreign !== undefined) return `the access key of the request does not have the group ${JSON.stringify(foreign)}`;
  if (old === undefined) return undefined;
  if (!fits(old)) return "it reaches beyond the access key that the request came in with";
  const isOwnOrChild =
    old.metadata.uid === creator.uid || keys.byUid(old.metadata.uid ?? "")?.parentUids.includes(creator.uid) === true;
  if ((object.spec?.key ?? "") !== "" && !isOwnOrChild) {
    return "a narrowed access key gives new values to itself and to keys made with it only";
  }
  return livesLonger(object, old) ? "a narrowed access key cannot lengthen the life of a key" : undefined;
}

function livesLonger(object: OwnedAccessKey, old: OwnedAccessKey): boolean {
  const end = ({ spec }: OwnedAccessKey) =>
    endOfLife({ createdAt: 0, lastActivity: undefined, ttl: Number(spec?.ttl ?? 0), countsFromActivity: false }, 0) ??
    Number.POSITIVE_INFINITY;
  const becomesSliding = object.spec?.ttlAfterLastActivity === true && old.spec?.ttlAfterLastActivity !== true;
  return end(object) > end(old) || (becomesSliding && Number.isFinite(end(object)));
}

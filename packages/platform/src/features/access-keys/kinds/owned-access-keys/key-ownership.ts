// Which access keys a caller owns, and which it may change as an administrator.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { VisibleObjects } from "@postern/apiserver/registry/visibility";
import { type Awaitable, whenDone } from "@postern/apiserver/runtime/awaitable";
import { attributesOfAction } from "../../../../foundation/kinds/may-do.ts";
import type { Directory } from "../../../directory/directory.ts";
import type { AccessKeyOwner } from "../../access-key-owner.ts";
import { ownerOf, ownerOfCaller, sameOwner } from "../../access-key-owner.ts";
import { specOf } from "../../chosen-values/secret-fields.ts";
import type { AccessKeyIndex } from "../../index/access-key-index.ts";

export type KeyOwnershipDeps = {
  readonly names: PlatformNames;
  readonly keys: AccessKeyIndex;
  readonly directory: Directory;
  readonly authorizer: Authorizer;
};

export type KeyOwnership = {
  /** Undefined if the key has no owner. */
  ownerOf(object: CachedObject): AccessKeyOwner | undefined;
  /** Whether the caller may do what it asks for with the key of this name and owner. */
  mayTouch(context: RequestContext, name: string, owner: AccessKeyOwner | undefined): Awaitable<boolean>;
  /** Which keys exist for the caller. */
  visibleTo(context: RequestContext): Awaitable<VisibleObjects>;
  /** Differs when the caller is in other teams. */
  teamsOf(context: RequestContext): string;
};

export function createKeyOwnership(deps: KeyOwnershipDeps): KeyOwnership {
  const { names, keys, directory } = deps;

  const isOwn = ({ user }: RequestContext): ((owner: AccessKeyOwner | undefined) => boolean) => {
    const caller = ownerOfCaller(user, directory, names);
    return (owner) =>
      owner !== undefined &&
      (sameOwner(owner, caller) || (owner.kind === "team" && user.groups.includes(names.teamGroup(owner.name))));
  };

  const ownerOfObject = (object: CachedObject): AccessKeyOwner | undefined => {
    const known = keys.byName(object.key.slice(object.key.lastIndexOf("/") + 1));
    // The owner is one of the things whose change changes the revision of the known state.
    const isKnown = known !== undefined && known.revision <= object.revision;
    return isKnown ? known.owner : ownerOf(specOf(object.decode()));
  };

  return {
    ownerOf: ownerOfObject,
    mayTouch: (context, name, owner) => isOwn(context)(owner) || isAdministrator(context, name, deps),
    visibleTo: (context) =>
      whenDone(isAdministrator(context, "", deps), (isOne): VisibleObjects => {
        if (isOne) return "all";
        const own = isOwn(context);
        return (object) => own(ownerOfObject(object));
      }),
    teamsOf({ user }) {
      const known = directory.userBySubject(user.name);
      const teams = known === undefined ? [] : directory.teamsOf(known.name);
      return teams.map(({ name }) => name).join("\n");
    },
  };
}

/** Whether the caller has a right to the same verb on `accesskeys` of the storage group. */
function isAdministrator(
  context: RequestContext,
  name: string,
  { authorizer, names }: KeyOwnershipDeps,
): Awaitable<boolean> {
  const { verb } = context.info;
  const action = { verb, apiGroup: names.storageGroup, resource: "accesskeys", name };
  return whenDone(authorizer.authorize(attributesOfAction(context, action)), ({ verdict }) => verdict === "allow");
}

// Which requests have places of their own in the flow control: those that take a key's power away, and those of administrators.

import { isMaster } from "@postern/apiserver/authorization/masters-authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { PlatformNames } from "../platform-names.ts";

const WITHDRAWING_VERBS: readonly string[] = ["update", "patch", "delete", "deletecollection"];
/** Changing or deleting one of these can revoke permissions of a key. */
const KEYS_AND_OWNERS: readonly string[] = ["ownedaccesskeys", "accesskeys", "users", "teams"];

export function createUrgentCheck({
  managementGroup,
  adminsGroup,
}: PlatformNames): (context: RequestContext) => boolean {
  return ({ user, caller = user, info }) => {
    if (caller.groups.includes(adminsGroup) || isMaster(caller)) return true;
    if (info.apiGroup !== managementGroup || !KEYS_AND_OWNERS.includes(info.resource)) return false;
    // A key is rotated by creating something below it.
    return WITHDRAWING_VERBS.includes(info.verb) || (info.verb === "create" && info.subresource !== "");
  };
}

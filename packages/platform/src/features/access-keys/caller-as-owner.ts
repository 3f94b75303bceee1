// The default owner of an object: its creator.

import type { Owner } from "@postern/api/owner";
import type { PlatformNames } from "@postern/api/platform-names";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { Directory } from "../directory/directory.ts";
import { ownerOfCaller } from "./access-key-owner.ts";

/** Undefined for callers that are neither a user nor a team of the platform. */
export function callerAsOwner(
  user: UserInfo,
  { directory, names }: { readonly directory: Directory; readonly names: PlatformNames },
): Owner | undefined {
  const { kind, name } = ownerOfCaller(user, directory, names);
  if (kind === "subject") return undefined;
  return kind === "user" ? { user: name } : { team: name };
}

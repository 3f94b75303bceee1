// Why a credential is refused because of its owner: it was deleted, replaced by another one with its name, or is locked.

import type { Directory } from "../../directory/directory.ts";
import type { AccessKeyOwner } from "../access-key-owner.ts";

export type OwnerDirectory = Pick<Directory, "user" | "userBySubject" | "team">;

/** Undefined for an owner that exists. `uid` is the owner's uid when it became the owner; absent: any uid matches. */
export function refusalOfOwner(
  owner: AccessKeyOwner,
  uid: string | undefined,
  directory: OwnerDirectory,
): string | undefined {
  if (owner.kind === "subject") {
    return directory.userBySubject(owner.name)?.locked === true ? LOCKED_USER : undefined;
  }
  const found = owner.kind === "user" ? directory.user(owner.name) : directory.team(owner.name);
  if (found === undefined) return `its ${owner.kind} does not exist`;
  if (uid !== undefined && found.uid !== uid) return `its ${owner.kind} was deleted, and another one has its name`;
  return "locked" in found && found.locked ? LOCKED_USER : undefined;
}

export const LOCKED_USER = "its user is locked";

// Why what belongs to somebody is refused: its owner is gone, has been replaced by another one of the name, or is locked.

import type { Directory } from "../directory/directory.ts";
import type { AccessKeyOwner } from "./access-key-state.ts";

export type OwnerDirectory = Pick<Directory, "user" | "userBySubject" | "team">;

/** Undefined for an owner who is there. `uid` is the one that it had when it became the owner; absent: any is good. */
export function refusalOfOwner(
  owner: AccessKeyOwner,
  uid: string | undefined,
  directory: OwnerDirectory,
): string | undefined {
  if (owner.kind === "subject") {
    return directory.userBySubject(owner.name)?.locked === true ? LOCKED_USER : undefined;
  }
  const found = owner.kind === "user" ? directory.user(owner.name) : directory.team(owner.name);
  if (found === undefined) return `its ${owner.kind} is gone`;
  if (uid !== undefined && found.uid !== uid) return `its ${owner.kind} is gone, there is another of its name`;
  return "locked" in found && found.locked ? LOCKED_USER : undefined;
}

export const LOCKED_USER = "its user is locked";

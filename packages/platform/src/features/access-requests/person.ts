// People behind users of the directory: two accounts of one person are one.

import { createHash } from "node:crypto";
import type { PlatformNames } from "@postern/api/platform-names";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { Directory, DirectoryUser } from "../directory/directory.ts";

export type Person = { readonly user: DirectoryUser; readonly teams: readonly string[] };

/** Undefined where there is no such user, or where it is locked. */
export function personOf(name: string, directory: Pick<Directory, "user" | "teamsOf">): Person | undefined {
  const user = directory.user(name);
  if (user === undefined || user.locked) return undefined;
  return { user, teams: directory.teamsOf(name).map((team) => team.name) };
}

/** The person behind the user of a request; undefined for programs. A credential of another kind may have the name, but not the group. */
export function personOfUser(
  { name, groups }: UserInfo,
  names: Pick<PlatformNames, "userGroup">,
  directory: Pick<Directory, "userBySubject" | "user" | "teamsOf">,
): Person | undefined {
  const found = directory.userBySubject(name);
  return found === undefined || !groups.includes(names.userGroup(found.name))
    ? undefined
    : personOf(found.name, directory);
}

/** By the user itself, by an identity that both sign in with, and by the e-mail address of both. */
export function isSamePerson(one: DirectoryUser, other: DirectoryUser): boolean {
  if (one.uid === other.uid || one.name === other.name || one.subject === other.subject) return true;
  if (one.email !== "" && one.email.toLowerCase() === other.email.toLowerCase()) return true;
  return one.identities.some(({ provider, subject }) =>
    other.identities.some((identity) => identity.provider === provider && identity.subject === subject),
  );
}

/** Short enough to record one for each approver, long enough that none is made to match another. */
export const digestOfUser = ({ uid }: Pick<DirectoryUser, "uid">): string =>
  createHash("sha256").update(`approver\n${uid}`).digest("base64url").slice(0, 16);

// The owner of a key: read from its spec, and the owner that a caller corresponds to.

import type { PlatformNames } from "@postern/api/platform-names";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { Directory } from "../directory/directory.ts";

/** The owner that a key authenticates as. */
export type AccessKeyOwner = { readonly kind: "user" | "team" | "subject"; readonly name: string };

type OwnerFields = { readonly user?: unknown; readonly team?: unknown; readonly subject?: unknown };

/** Undefined if the spec has no owner. */
export function ownerOf(spec: OwnerFields | JsonObject): AccessKeyOwner | undefined {
  const { user, team, subject } = spec as OwnerFields;
  if (isName(user)) return { kind: "user", name: user };
  if (isName(team)) return { kind: "team", name: team };
  return isName(subject) ? { kind: "subject", name: subject } : undefined;
}

const isName = (value: unknown): value is string => typeof value === "string" && value !== "";

export const sameOwner = (a: AccessKeyOwner | undefined, b: AccessKeyOwner | undefined): boolean =>
  a?.kind === b?.kind && a?.name === b?.name;

/** The name under which records of an owner are counted. */
export const accountOfOwner = ({ kind, name }: AccessKeyOwner): string => `${kind} ${name}`;

/** Owner of a caller's own keys: a user of the directory, a team where the caller came in with a team's key, or a subject. */
export function ownerOfCaller(user: UserInfo, directory: Directory, names: PlatformNames): AccessKeyOwner {
  const known = directory.userBySubject(user.name);
  if (known !== undefined) return { kind: "user", name: known.name };
  const teamPrefix = names.teamGroup("");
  if (user.name.startsWith(teamPrefix)) {
    const team = user.name.slice(teamPrefix.length);
    if (directory.team(team) !== undefined && user.groups.includes(user.name)) return { kind: "team", name: team };
  }
  return { kind: "subject", name: user.name };
}

/** Uid that the store remembers to tell an owner from a later one of the same name; undefined where the directory knows none. */
export function ownerUid(owner: AccessKeyOwner, directory: Directory): string | undefined {
  if (owner.kind === "user") return directory.user(owner.name)?.uid;
  if (owner.kind === "team") return directory.team(owner.name)?.uid;
  return undefined;
}

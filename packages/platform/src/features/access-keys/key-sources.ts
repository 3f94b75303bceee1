// From where a key is accepted: its own networks, and those of its user.

import type { Directory } from "../directory/directory.ts";
import type { AccessKeyState } from "./access-key-state.ts";
import { isFromRanges, type SourceRanges } from "./source-ranges.ts";

type BoundKey = Pick<AccessKeyState, "owner" | "sourceRanges">;
type Users = Pick<Directory, "user">;

const ANYWHERE: SourceRanges = [];

const rangesOfUser = ({ owner }: BoundKey, users: Users): SourceRanges =>
  owner.kind === "user" ? (users.user(owner.name)?.sourceRanges ?? ANYWHERE) : ANYWHERE;

/** For the audit log. */
export const sourceText = (address: string): string => `spec.allowedSourceRanges does not include ${address}`;

export const userSourceText = (address: string): string =>
  `spec.allowedSourceRanges of the user does not include ${address}`;

/** Why the key is not accepted from the address: a reason for the metric, and a text for the audit log. */
export function sourceRefusalOfKey(
  key: BoundKey,
  address: string,
  users: Users,
): { readonly reason: "SourceNotAllowed"; readonly message: string } | undefined {
  if (!isFromRanges(key.sourceRanges, address)) return { reason: "SourceNotAllowed", message: sourceText(address) };
  if (!isFromRanges(rangesOfUser(key, users), address))
    return { reason: "SourceNotAllowed", message: userSourceText(address) };
  return undefined;
}

/** Whether anything about it depends on where its bearer is. */
export const isBoundToSources = (key: BoundKey, users: Users): boolean =>
  key.sourceRanges.length > 0 || rangesOfUser(key, users).length > 0;

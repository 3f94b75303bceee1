// How many access keys one owner may have.

import type { AccessKeyIndex } from "../../access-keys/access-key-index.ts";
import { ownerOf, sameOwner } from "../../access-keys/access-key-owner.ts";
import type { OwnedAccessKey } from "./owned-access-key.ts";

/** Why the owner may have no further key; undefined when it may. `old` is what an update starts from. Writes at the same moment may pass it. */
export function faultOfQuota(
  { spec }: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  keys: Pick<AccessKeyIndex, "ownedBy">,
  maxPerOwner: number,
): string | undefined {
  if (maxPerOwner === 0) return undefined;
  const owner = ownerOf(spec ?? {});
  if (owner === undefined || (old !== undefined && sameOwner(owner, ownerOf(old.spec ?? {})))) return undefined;
  const count = keys.ownedBy(owner).length;
  if (count < maxPerOwner) return undefined;
  return `the ${owner.kind} ${JSON.stringify(owner.name)} has ${count} access keys, and the server allows ${maxPerOwner}: delete those that are not needed any more`;
}

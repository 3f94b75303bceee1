// Whether an access key is valid: by its own state, its expiration, its owner, and the keys it was created with.

import type { ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import { sameOwner } from "../access-key-owner.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import { type KeyGrants, NO_GRANTS } from "../key-grant.ts";
import { isVoid } from "../key-origins.ts";
import type { RotationMarks } from "../rotation/rotation-marks.ts";
import { exceededBound, type KeyBounds } from "./key-bounds.ts";
import { type ExpiringKey, type KeyExpirations, MAX_ANCESTORS } from "./key-expirations.ts";
import { isPermissionSubset } from "./permission-subset.ts";
import type { KeyRefusal } from "./ready-reasons.ts";
import { LOCKED_USER, type OwnerDirectory, refusalOfOwner } from "./refusal-of-owner.ts";

/** Members that determine whether a record is valid, besides its ancestors and owner. */
export type RefusableKey = ExpiringKey &
  Pick<
    AccessKeyState,
    | "name"
    | "id"
    | "owner"
    | "groups"
    | "restrictions"
    | keyof KeyBounds
    | "disabled"
    | "origins"
    | "childrenFrom"
    | "grant"
  > & {
    /** A retired value of the key was used after its end. */
    readonly isLocked: boolean;
    /** Its current value was reported as leaked. */
    readonly isLeaked: boolean;
    /** The uid of the owner when it became the owner. */
    readonly ownerUid: string | undefined;
  };

/** The returned function gives undefined for a valid key. */
export function createKeyRefusal(deps: {
  readonly table: {
    byUid(uid: string): RefusableKey | undefined;
    byName(name: string): RefusableKey | undefined;
    /** One entry for each value of the key that a rotation replaced. */
    retiredOf(name: string): readonly RefusableKey[];
  };
  readonly ends: Pick<KeyExpirations, "hasEnded" | "graceLeft">;
  readonly directory: OwnerDirectory;
  readonly rotationMarks: Pick<RotationMarks, "lockedIdOf" | "isConfirmed">;
  readonly epochs: Pick<ClockEpochs, "latest">;
  /** Current grants of trust rules. Absent: none. */
  readonly grants?: Pick<KeyGrants, "keyRefusalOf">;
}): (key: Pick<AccessKeyState, "uid" | "id">) => KeyRefusal | undefined {
  const { table, ends, directory, rotationMarks, epochs, grants = NO_GRANTS } = deps;

  const refusal = (record: RefusableKey, depth = 0): KeyRefusal | undefined => {
    if ((ends.graceLeft(record) ?? 1) <= 0) return { reason: "Deleting", message: "being deleted" };
    if (isRevoked(record)) return { reason: "Revoked", message: REVOKED };
    if (ends.hasEnded(record)) return { reason: "Expired", message: "expired" };
    const withdrawn = record.grant && grants.keyRefusalOf(record.grant, record);
    if (withdrawn !== undefined) return withdrawn;
    if (record.isLeaked) return { reason: "Leaked", message: LEAKED };
    if (record.disabled) return { reason: "Disabled", message: "disabled" };
    const lockedId = rotationMarks.lockedIdOf(record.uid);
    if (record.isLocked || (lockedId !== undefined && lockedId === currentIdOf(record)))
      return { reason: "RetiredValueUsed", message: LOCKED };
    if (hasRetired(record)) return { reason: "Replaced", message: "replaced by a rotation" };
    if (record.owner.name === "") return { reason: "OwnerGone", message: "has no owner" };
    const byOwner = refusalOfOwner(record.owner, record.ownerUid, directory);
    if (byOwner !== undefined)
      return { reason: byOwner === LOCKED_USER ? "OwnerLocked" : "OwnerGone", message: byOwner };
    if (depth > MAX_ANCESTORS) return parentRefused("created through too many other keys");
    for (const uid of record.parentUids) {
      const parent = table.byUid(uid);
      if (parent === undefined) return parentRefused("the key it was created with does not exist");
      const why = refusal(parent, depth + 1);
      if (why !== undefined) return parentRefused(`the key it was created with is refused: ${why.message}`);
      const excess = excessOver(parent, record);
      if (excess !== undefined) return parentRefused(excess);
    }
    return undefined;
  };

  /** Keys without origins were created before values had serials, and count as created with the first value. */
  const isRevoked = ({ origins, parentUids }: RefusableKey): boolean =>
    (origins.length > 0 && isVoid(origins, (name) => table.byName(name))) ||
    parentUids.some((uid) => (table.byUid(uid)?.childrenFrom ?? 0) > 0 && !origins.some((made) => made.uid === uid));

  /** Undefined: nothing. A parent may have been limited after the key was created. */
  const excessOver = (parent: RefusableKey, record: RefusableKey): string | undefined => {
    if (!isPermissionSubset(record.restrictions, parent.restrictions) || !hasSubjectOf(record, parent))
      return "has more permissions than the key it was created with";
    const exceeded = exceededBound(record, parent);
    return exceeded && EXCESS[exceeded];
  };

  /** A key created with a restricted key has the same owner, and no group that the restricted key lacks. */
  const hasSubjectOf = ({ owner, groups }: RefusableKey, parent: RefusableKey): boolean =>
    parent.restrictions === undefined ||
    (sameOwner(owner, parent.owner) && groups.every((group) => parent.groups.includes(group)));

  /** The record of a retired value has the uid of its key, and another id. */
  const currentIdOf = ({ uid }: RefusableKey): string => table.byUid(uid)?.id ?? "";

  /** A retired value ends with its grace period, or with the first use of the value after it. */
  const hasRetired = (record: RefusableKey): boolean =>
    record.acceptedUntil !== undefined &&
    (record.acceptedUntil <= epochs.latest(record.epoch) || rotationMarks.isConfirmed(record.uid, currentIdOf(record)));

  return (key) => {
    const record = table.byUid(key.uid);
    if (record === undefined) return { reason: "Unknown", message: "deleted" };
    const found = record.id === key.id ? record : table.retiredOf(record.name).find(({ id }) => id === key.id);
    return found === undefined ? { reason: "Replaced", message: "replaced by a new value" } : refusal(found);
  };
}

const parentRefused = (message: string): KeyRefusal => ({ reason: "ParentRefused", message });

const EXCESS: { readonly [bound in keyof KeyBounds]: string } = {
  sourceRanges: "is accepted from more addresses than the key it was created with",
  audiences: "is accepted by more audiences than the key it was created with",
  confirmation: "is bound to no client certificate or key pair, and the key it was created with is",
};
const LOCKED = "locked: an old value was used after its rotation";
const LEAKED = "reported as leaked";
const REVOKED = "revoked: it was created with a compromised value";

/** How the owner of the key can proceed, as text for users. */
export function remedyOfKeyRefusal({ reason, message }: KeyRefusal): string {
  switch (reason) {
    case "Disabled":
      return "set spec.disabled of the key to false";
    case "Leaked":
      return "its value is compromised: rotate the key with another credential, then set spec.disabled to false";
    case "RetiredValueUsed":
      return "its values may be compromised: rotate the key with another credential";
    case "UsesExhausted":
      return "raise spec.maxUses of the key with another credential";
    case "OwnerLocked":
      return "an administrator must unlock the user: set spec.disabled of the user to false";
    default:
      return `create another key: this one is refused permanently (${message})`;
  }
}

// Why an access key is refused: by its own state, by its owner, or by a key it was made with.

import type { ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import type { AccessKeyState } from "./access-key-state.ts";
import { isWithin } from "./is-within.ts";
import { type EndingKey, type KeyEnds, MAX_ANCESTORS } from "./key-ends.ts";
import { LOCKED_USER, type OwnerDirectory, refusalOfOwner } from "./owner-refusal.ts";
import type { RotationMarks } from "./rotation/rotation-marks.ts";

/** What tells whether a record is good, beside its ancestors and its owner. */
export type RefusableKey = EndingKey &
  Pick<AccessKeyState, "name" | "id" | "owner" | "restrictions" | "disabled"> & {
    /** Deleted, and only held by finalizers: it opens nothing any more. */
    readonly isTerminating: boolean;
    /** A retired value of it was used after its end. */
    readonly isLocked: boolean;
    /** The uid that its owner had when it became the owner. */
    readonly ownerUid: string | undefined;
  };

export type KeyRefusalOptions = {
  readonly table: {
    byUid(uid: string): RefusableKey | undefined;
    /** By name: the key once more for each value that a rotation replaced. */
    retiredOf(name: string): readonly RefusableKey[];
  };
  readonly ends: Pick<KeyEnds, "hasEnded">;
  readonly directory: OwnerDirectory;
  readonly rotationMarks: Pick<RotationMarks, "isLocked" | "isConfirmed">;
  readonly epochs: Pick<ClockEpochs, "latest">;
};

/** Undefined for a key that is good; otherwise words for the audit log, which hold no secret. */
export function createKeyRefusal(
  options: KeyRefusalOptions,
): (key: Pick<AccessKeyState, "uid" | "id">) => string | undefined {
  const { table, ends, directory, rotationMarks, epochs } = options;

  const refusal = (record: RefusableKey, depth = 0): string | undefined => {
    if (record.isTerminating) return "being deleted";
    if (record.disabled) return "disabled";
    if (ends.hasEnded(record)) return "expired";
    if (record.isLocked || rotationMarks.isLocked(record.uid, currentIdOf(record))) return LOCKED;
    if (isOver(record)) return "replaced by a rotation";
    if (record.owner.name === "") return "belongs to nobody";
    const byOwner = refusalOfOwner(record.owner, record.ownerUid, directory);
    if (byOwner !== undefined) return byOwner;
    if (depth > MAX_ANCESTORS) return "made through too many other keys";
    for (const uid of record.parentUids) {
      const parent = table.byUid(uid);
      if (parent === undefined) return "the key it was made with is gone";
      const why = refusal(parent, depth + 1);
      if (why !== undefined) return `the key it was made with is refused: ${why}`;
      if (!isWithin(record.restrictions, parent.restrictions)) return "reaches beyond the key it was made with";
    }
    return undefined;
  };

  /** A retired value has the uid of its key, and an id of its own. */
  const currentIdOf = ({ uid }: RefusableKey): string => table.byUid(uid)?.id ?? "";

  /** A retired value ends with its grace, or with the first use of the one that came after it. */
  const isOver = (record: RefusableKey): boolean =>
    record.acceptedUntil !== undefined &&
    (record.acceptedUntil <= epochs.latest(record.epoch) || rotationMarks.isConfirmed(record.uid, currentIdOf(record)));

  return (key) => {
    const record = table.byUid(key.uid);
    if (record === undefined) return "deleted";
    const found = record.id === key.id ? record : table.retiredOf(record.name).find(({ id }) => id === key.id);
    return found === undefined ? "replaced by a new value" : refusal(found);
  };
}

const LOCKED = "locked: a value that a rotation had replaced was used";

/** What the owner of the key can do about it, for people to read. */
export function remedyOfKeyRefusal(refusal: string): string {
  switch (refusal) {
    case "disabled":
      return "set spec.disabled of the key to false, unless it was disabled for having leaked: then rotate it before";
    case LOCKED:
      return "rotate the key with another credential: somebody else may have its values";
    case LOCKED_USER:
      return "an administrator has to unlock the user: set spec.disabled of the user to false";
    default:
      return `make another key: this one is refused for good (${refusal})`;
  }
}

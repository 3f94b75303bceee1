// Whether an access key is valid, and until when: its own state, its TTL, its owner, and the keys it was created with.

import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/system-runtime";
import { LOCKED_USER, type OwnerDirectory, refusalOfOwner, sameOwner } from "./access-key-owner.ts";
import type { AccessKeyOwner, AccessKeyState } from "./access-key-state.ts";
import { type KeyGrant, type KeyGrants, NO_GRANTS } from "./key-grant.ts";
import { isVoid } from "./key-origins.ts";
import type { LastActivity } from "./last-activity.ts";
import { isPermissionSubset } from "./permission-subset.ts";

/** Why a key is refused, in one word for machines and in some for people, which hold no secret. */
export type KeyRefusal = { readonly reason: KeyRefusalReason; readonly message: string };

/** The reasons of the condition Ready; the first is that of a valid key, and Terminating that of one in the grace period of its deletion. */
export const READY_REASONS = [
  "Accepted",
  "Deleting",
  "Disabled",
  "Expired",
  "Leaked",
  "OwnerGone",
  "OwnerLocked",
  "ParentRefused",
  "Replaced",
  "RetiredValueUsed",
  "Revoked",
  "Terminating",
  "TrustWithdrawn",
] as const;

export type KeyRefusalReason = Exclude<(typeof READY_REASONS)[number], "Accepted" | "Terminating"> | "Unknown";

/** What determines whether a record is valid, besides its ancestors and owner. */
export type RefusableKey = ExpiringKey &
  Pick<
    AccessKeyState,
    "name" | "id" | "owner" | "groups" | "restrictions" | "disabled" | "origins" | "childrenFrom" | "grant"
  > & {
    /** A retired value of it was used after its end. */
    readonly isLocked: boolean;
    /** The value that it has was reported as leaked. */
    readonly isLeaked: boolean;
    /** The uid that its owner had when it became the owner. */
    readonly ownerUid: string | undefined;
  };

export type KeyRefusalDeps = {
  readonly table: {
    byUid(uid: string): RefusableKey | undefined;
    byName(name: string): RefusableKey | undefined;
    /** By name: the key once more for each value that a rotation replaced. */
    retiredOf(name: string): readonly RefusableKey[];
  };
  readonly ends: Pick<KeyExpirations, "hasEnded" | "graceLeft">;
  readonly directory: OwnerDirectory;
  readonly rotationMarks: Pick<RotationMarks, "lockedIdOf" | "isConfirmed">;
  readonly epochs: Pick<ClockEpochs, "latest">;
  /** What trust rules give now. Absent: nothing. */
  readonly grants?: Pick<KeyGrants, "refusalOf">;
};

/** Undefined for a valid key. */
export function createKeyRefusal(
  deps: KeyRefusalDeps,
): (key: Pick<AccessKeyState, "uid" | "id">) => KeyRefusal | undefined {
  const { table, ends, directory, rotationMarks, epochs, grants = NO_GRANTS } = deps;

  const refusal = (record: RefusableKey, depth = 0): KeyRefusal | undefined => {
    if ((ends.graceLeft(record) ?? 1) <= 0) return { reason: "Deleting", message: "being deleted" };
    if (isRevoked(record)) return { reason: "Revoked", message: REVOKED };
    if (ends.hasEnded(record)) return { reason: "Expired", message: "expired" };
    const withdrawn = record.grant && grants.refusalOf(record.grant, record);
    if (withdrawn !== undefined) return withdrawn;
    if (record.isLeaked) return { reason: "Leaked", message: LEAKED };
    if (record.disabled) return { reason: "Disabled", message: "disabled" };
    const lockedId = rotationMarks.lockedIdOf(record.uid);
    if (record.isLocked || (lockedId !== undefined && lockedId === currentIdOf(record)))
      return { reason: "RetiredValueUsed", message: LOCKED };
    if (isOver(record)) return { reason: "Replaced", message: "replaced by a rotation" };
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
      if (!isPermissionSubset(record.restrictions, parent.restrictions) || !isAlike(record, parent))
        return parentRefused("has more permissions than the key it was created with");
    }
    return undefined;
  };

  /** What was made before values were counted was made with the first. */
  const isRevoked = ({ origins, parentUids }: RefusableKey): boolean =>
    (origins.length > 0 && isVoid(origins, (name) => table.byName(name))) ||
    parentUids.some((uid) => (table.byUid(uid)?.childrenFrom ?? 0) > 0 && !origins.some((made) => made.uid === uid));

  /** What a narrowed key made is its owner's, and is in no group that it is not in. */
  const isAlike = ({ owner, groups }: RefusableKey, parent: RefusableKey): boolean =>
    parent.restrictions === undefined ||
    (sameOwner(owner, parent.owner) && groups.every((group) => parent.groups.includes(group)));

  /** A retired value has the uid of its key, and an id of its own. */
  const currentIdOf = ({ uid }: RefusableKey): string => table.byUid(uid)?.id ?? "";

  /** A retired value ends with its grace, or with the first use of the one that came after it. */
  const isOver = (record: RefusableKey): boolean =>
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

const LOCKED = "locked: an old value was used after its rotation";
const LEAKED = "reported as leaked";
const REVOKED = "revoked: it was created with a compromised value";

/** What the owner of the key can do about it, for people. */
export function remedyOfKeyRefusal(refusal: string): string {
  switch (refusal) {
    case "disabled":
      return "set spec.disabled of the key to false";
    case LEAKED:
      return "its value is compromised: rotate the key with another credential, then set spec.disabled to false";
    case LOCKED:
      return "its values may be compromised: rotate the key with another credential";
    case LOCKED_USER:
      return "an administrator must unlock the user: set spec.disabled of the user to false";
    default:
      return `create another key: this one is refused permanently (${refusal})`;
  }
}

// What is known of rotations before it is written: which new values have been used, and which keys are locked. It is in force at once.

export type RotationMarks = {
  /** The value `id` of the key has been used, so that those before it are over. Returns whether that is news. */
  confirm(uid: string, id: string): boolean;
  isConfirmed(uid: string, id: string): boolean;
  /** A value from before `id` was used after its end. Returns whether that is news. */
  lock(uid: string, id: string): boolean;
  /** The value of the key that was locked. */
  lockedIdOf(uid: string): string | undefined;
  forget(uid: string): void;
  /** Calls back with the uid of every key about which there is news. */
  onChange(listener: (uid: string) => void): Disposable;
};

/** Marks belong to the value that the key had then: the next one begins without them. */
export function createRotationMarks(): RotationMarks {
  const confirmed = new Map<string, string>();
  const locked = new Map<string, string>();
  const listeners = new ChangeListeners<[uid: string]>();
  const mark = (marks: Map<string, string>, uid: string, id: string): boolean => {
    if (marks.get(uid) === id) return false;
    marks.set(uid, id);
    listeners.call(uid);
    return true;
  };
  return {
    confirm: (uid, id) => mark(confirmed, uid, id),
    isConfirmed: (uid, id) => confirmed.get(uid) === id,
    lock: (uid, id) => mark(locked, uid, id),
    lockedIdOf: (uid) => locked.get(uid),
    forget(uid) {
      confirmed.delete(uid);
      locked.delete(uid);
    },
    onChange: (listener) => listeners.add(listener),
  };
}

// When keys expire: by their own TTL, by the grace period of a rotation or deletion, and with the keys they were created with.

/** What determines when a record expires. Times are milliseconds since the epoch; undefined: never. */
export type ExpiringKey = {
  readonly name: string;
  readonly uid: string;
  readonly parentUids: readonly string[];
  readonly createdAt: number;
  /** Seconds; 0: never expires. */
  readonly ttl: number;
  readonly countsFromActivity: boolean;
  /** As a record of an earlier release has it: since then it is recorded beside the key. */
  readonly lastActivity: number | undefined;
  /** For a value that a rotation replaced. */
  readonly acceptedUntil: number | undefined;
  /** For a key that is being deleted: the end of its grace period; 0 without one. */
  readonly deletedFrom: number | undefined;
  /** For a key that a trust rule issued. */
  readonly grant?: Pick<KeyGrant, "until"> | undefined;
  /** In which its times were learned. */
  readonly epoch: ClockEpoch;
  /** Its condition Ready says that it has expired, which lasts until its TTL is extended, whatever time it is. */
  readonly isMarkedExpired: boolean;
};

export type KeyExpirationsDeps = {
  readonly byUid: (uid: string) => ExpiringKey | undefined;
  readonly activity: Pick<LastActivity, "of" | "epochOf" | "written">;
  readonly epochs: Pick<ClockEpochs, "latest">;
  /** The setting accessKeys.maxTTLSeconds. */
  readonly maxTTLSeconds: number;
};

export type KeyExpirations = {
  /** When a record expires by its own TTL, regardless of its ancestors. */
  ownExpiration(record: ExpiringKey): number | undefined;
  /** The earliest end of the record and of those it was made with; 0 where one of them is gone. */
  expirationWithAncestors(record: ExpiringKey): number | undefined;
  /** Whether its own TTL was over at least `graceMs` ago. What has ended does not begin again because the clock is set back. */
  hasEnded(record: ExpiringKey, graceMs?: number): boolean;
  /** For a key that is being deleted, the milliseconds for which it is still accepted; not positive when its grace period is over. */
  graceLeft(record: Pick<ExpiringKey, "deletedFrom" | "epoch">): number | undefined;
};

/** Deeper than any honest chain of keys made with keys. */
export const MAX_ANCESTORS = 16;

export function createKeyExpirations({ byUid, activity, epochs, maxTTLSeconds }: KeyExpirationsDeps): KeyExpirations {
  const endFrom = (createdAt: number, lastActivity: number | undefined, record: ExpiringKey): number | undefined => {
    const { ttl, countsFromActivity } = record;
    return expirationOf({ createdAt, lastActivity, ttl, countsFromActivity }, maxTTLSeconds);
  };

  const writtenActivity = (record: ExpiringKey): number =>
    record.countsFromActivity ? Math.max(record.lastActivity ?? 0, activity.written(record) ?? 0) : 0;

  const ownExpiration = (record: ExpiringKey): number | undefined =>
    earlier(
      endFrom(record.createdAt, Math.max(writtenActivity(record), activity.of(record.uid) ?? 0), record),
      record.grant?.until,
    );

  const expirationWithAncestors = (record: ExpiringKey, depth = 0): number | undefined => {
    let end = earlier(earlier(ownExpiration(record), record.acceptedUntil), record.deletedFrom);
    if (depth > MAX_ANCESTORS) return 0;
    for (const uid of record.parentUids) {
      const parent = byUid(uid);
      const parentEnd = parent === undefined ? 0 : expirationWithAncestors(parent, depth + 1);
      end = earlier(end, parentEnd);
    }
    return end;
  };

  return {
    ownExpiration,
    expirationWithAncestors: (record) => expirationWithAncestors(record),
    graceLeft: ({ deletedFrom, epoch }) => (deletedFrom === undefined ? undefined : deletedFrom - epochs.latest(epoch)),
    /** By what is written, and by what is known here of its use; each by the clock as it was when that was learned. */
    hasEnded(record, graceMs = 0) {
      // Since when is a matter of the clock.
      if (record.isMarkedExpired && graceMs === 0) return true;
      const latest = epochs.latest(record.epoch);
      if (record.grant !== undefined && record.grant.until + graceMs <= latest) return true;
      const written = endFrom(record.createdAt, writtenActivity(record), record);
      if (written === undefined || written + graceMs > latest) return false;
      const usedAt = record.countsFromActivity ? activity.of(record.uid) : undefined;
      // Without its creation timestamp: the clock may have been set since.
      const byUse = usedAt === undefined ? undefined : endFrom(usedAt, usedAt, record);
      return byUse === undefined || byUse + graceMs <= epochs.latest(activity.epochOf(record.uid));
    },
  };
}

/** Of two moments, either of which may never come. */
const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

// The TTL of access keys.

export type Lifetime = {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly lastActivity: number | undefined;
  /** Seconds; 0: no end of its own. */
  readonly ttl: number;
  /** Counted from the last activity, or from creation while unused. */
  readonly countsFromActivity: boolean;
};

/** Three hundred years: the year of any expiration has four digits. */
export const MAX_TTL_SECONDS = 9_500_000_000;

/** The effective TTL in seconds: a missing TTL, or one above the maximum, becomes the maximum. 0: never expires. */
export function effectiveTTL(ttl: number, maxTTLSeconds: number): number {
  const wanted = ttl > 0 ? Math.min(ttl, MAX_TTL_SECONDS) : 0;
  if (maxTTLSeconds <= 0) return wanted;
  return wanted === 0 ? maxTTLSeconds : Math.min(wanted, maxTTLSeconds);
}

export type DefaultTTLs = {
  /** The setting accessKeys.defaultTTLSeconds; 0 or less: no end. */
  readonly defaultTTLSeconds: number;
  /** The setting accessKeys.machineDefaultTTLSeconds. */
  readonly machineDefaultTTLSeconds: number;
};

/** Default TTL in seconds of an access key, by the kind of its owner. 0: never expires. A user is a person, all others are machines. */
export function defaultTTLOf(owner: AccessKeyOwner | undefined, settings: DefaultTTLs): number {
  const isPerson = owner === undefined || owner.kind === "user";
  return Math.max(0, isPerson ? settings.defaultTTLSeconds : settings.machineDefaultTTLSeconds);
}

export type KeyTTL = { readonly ttl: number; readonly countsFromActivity: boolean };

/** Whether a key may work longer by the first than by the second. A TTL that starts again with each use has no fixed expiration. */
export function isLongerTTL(life: KeyTTL, than: KeyTTL): boolean {
  if (than.ttl <= 0) return false;
  if (life.ttl <= 0 || life.ttl > than.ttl) return true;
  return life.countsFromActivity && !than.countsFromActivity;
}

/** Milliseconds since the epoch; undefined: never. */
export function expirationOf(
  { createdAt, lastActivity, ttl, countsFromActivity }: Lifetime,
  maxTTLSeconds: number,
): number | undefined {
  const seconds = effectiveTTL(ttl, maxTTLSeconds);
  if (seconds === 0) return undefined;
  const from = countsFromActivity ? Math.max(createdAt, lastActivity ?? 0) : createdAt;
  return from + seconds * 1000;
}

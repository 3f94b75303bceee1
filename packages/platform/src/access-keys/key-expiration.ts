// When access keys expire: by their own TTL, by the grace period of a rotation, and with the keys they were created with.

import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/system-runtime";
import type { AccessKeyOwner } from "./access-key-state.ts";
import type { KeyGrant } from "./key-grant.ts";
import type { LastActivity } from "./last-activity.ts";

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
  /** For a key that a trust rule issued. */
  readonly grant?: Pick<KeyGrant, "until"> | undefined;
  /** In which its times were learned. */
  readonly epoch: ClockEpoch;
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
    let end = earlier(ownExpiration(record), record.acceptedUntil);
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
    /** By what is written, and by what is known here of its use; each by the clock as it was when that was learned. */
    hasEnded(record, graceMs = 0) {
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

// When keys expire: by their own TTL, by the grace period of a rotation or deletion, and with the keys they were created with.

import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import type { KeyGrant } from "../key-grant.ts";
import type { LastActivity } from "../last-use/last-activity.ts";
import { expirationOf } from "./key-ttl.ts";

/** Members that determine when a record expires. Times are milliseconds since the epoch; undefined: never. */
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
  /** The epoch of the clock in which its times were learned. */
  readonly epoch: ClockEpoch;
  /** Its condition Ready says that it has expired, which lasts until its TTL is extended, whatever time it is. */
  readonly isMarkedExpired: boolean;
};

export type KeyExpirations = {
  /** When a record expires by its own TTL, regardless of its ancestors. */
  ownExpiration(record: ExpiringKey): number | undefined;
  /** The earliest end of the record and of those it was made with; 0 where one of them is gone. */
  expirationWithAncestors(record: ExpiringKey): number | undefined;
  /** Whether its own TTL was over at least `graceMs` ago. An ended record stays ended when the clock is set back. */
  hasEnded(record: ExpiringKey, graceMs?: number): boolean;
  /** For a key that is being deleted, the milliseconds for which it is still accepted; not positive when its grace period is over. */
  graceLeft(record: Pick<ExpiringKey, "deletedFrom" | "epoch">): number | undefined;
};

/** Deeper than any honest chain of keys made with keys. */
export const MAX_ANCESTORS = 16;

export function createKeyExpirations(deps: {
  readonly byUid: (uid: string) => ExpiringKey | undefined;
  readonly activity: Pick<LastActivity, "of" | "epochOf" | "written">;
  readonly epochs: Pick<ClockEpochs, "latest">;
  /** The setting accessKeys.maxTTLSeconds. */
  readonly maxTTLSeconds: number;
}): KeyExpirations {
  const { byUid, activity, epochs, maxTTLSeconds } = deps;
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
    /** By the stored activity and by the activity known here, each by the clock of the moment when it was learned. */
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

/** The earlier of two times, either of which may be undefined. */
const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

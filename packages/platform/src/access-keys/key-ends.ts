// When access keys end by themselves: by their own life, by a rotation's grace, and with the keys they were made with.

import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import type { KeyGrant } from "./key-grant.ts";
import { endOfLife } from "./key-lifetime.ts";
import type { LastActivity } from "./last-activity.ts";

/** What tells when a record ends; times are milliseconds since the epoch, undefined: never. */
export type EndingKey = {
  readonly name: string;
  readonly uid: string;
  readonly parentUids: readonly string[];
  readonly createdAt: number;
  /** Seconds; 0: no end by itself. */
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

export type KeyEndsOptions = {
  readonly byUid: (uid: string) => EndingKey | undefined;
  readonly activity: Pick<LastActivity, "of" | "epochOf" | "written">;
  readonly epochs: Pick<ClockEpochs, "latest">;
  /** The setting accessKeys.maxTTLSeconds. */
  readonly maxTTLSeconds: number;
};

export type KeyEnds = {
  /** When a record ends by its own life, without what its ancestors' does to it. */
  ownEnd(record: EndingKey): number | undefined;
  /** The earliest end of the record and of those it was made with; 0 where one of them is gone. */
  endWithAncestors(record: EndingKey): number | undefined;
  /** Whether its own life ended at least `graceMs` ago. What has ended does not begin again because the clock is set back. */
  hasEnded(record: EndingKey, graceMs?: number): boolean;
};

/** Deeper than any honest chain of keys made with keys. */
export const MAX_ANCESTORS = 16;

export function createKeyEnds({ byUid, activity, epochs, maxTTLSeconds }: KeyEndsOptions): KeyEnds {
  const endFrom = (createdAt: number, lastActivity: number | undefined, record: EndingKey): number | undefined => {
    const { ttl, countsFromActivity } = record;
    return endOfLife({ createdAt, lastActivity, ttl, countsFromActivity }, maxTTLSeconds);
  };

  const writtenActivity = (record: EndingKey): number =>
    record.countsFromActivity ? Math.max(record.lastActivity ?? 0, activity.written(record) ?? 0) : 0;

  const ownEnd = (record: EndingKey): number | undefined =>
    earlier(
      endFrom(record.createdAt, Math.max(writtenActivity(record), activity.of(record.uid) ?? 0), record),
      record.grant?.until,
    );

  const endWithAncestors = (record: EndingKey, depth = 0): number | undefined => {
    let end = earlier(ownEnd(record), record.acceptedUntil);
    if (depth > MAX_ANCESTORS) return 0;
    for (const uid of record.parentUids) {
      const parent = byUid(uid);
      const parentEnd = parent === undefined ? 0 : endWithAncestors(parent, depth + 1);
      end = earlier(end, parentEnd);
    }
    return end;
  };

  return {
    ownEnd,
    endWithAncestors: (record) => endWithAncestors(record),
    /** By what is written, and by what is known here of its use; each by the clock as it was when that was learned. */
    hasEnded(record, graceMs = 0) {
      const latest = epochs.latest(record.epoch);
      if (record.grant !== undefined && record.grant.until + graceMs <= latest) return true;
      const written = endFrom(record.createdAt, writtenActivity(record), record);
      if (written === undefined || written + graceMs > latest) return false;
      const usedAt = record.countsFromActivity ? activity.of(record.uid) : undefined;
      // Without its creation, which was told by another clock where that has been set since.
      const byUse = usedAt === undefined ? undefined : endFrom(usedAt, usedAt, record);
      return byUse === undefined || byUse + graceMs <= epochs.latest(activity.epochOf(record.uid));
    },
  };
}

/** Of two moments, either of which may never come. */
const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

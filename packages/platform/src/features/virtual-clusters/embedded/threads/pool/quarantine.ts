// Clusters that stopped their thread: each runs alone for a while, and pauses longer after each time, as containers in CrashLoopBackOff.

import type { Clock } from "@postern/apiserver/runtime/clock";
import type { ClusterFault } from "../../embedded-clusters.ts";
import type { EndReason } from "./thread-process.ts";

export type Quarantine = {
  /** Notes that a cluster stopped its thread. */
  add(uid: string, reason: EndReason): void;
  /** Whether it has to run alone. */
  has(uid: string): boolean;
  /** Why it may not start yet, and in how many milliseconds it may. */
  pauseOf(uid: string): (ClusterFault & { readonly remainingMs: number }) | undefined;
  forget(uid: string): void;
  readonly size: number;
};

export const CRASH_LOOP = "CrashLoopBackOff";
/** After the second time; after the first, it starts at once. */
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** A cluster that has run so long without a fault is like any other again. */
const FORGIVEN_MS = 10 * 60_000;

type Record = {
  readonly failures: number;
  readonly failedAt: number;
  readonly pauseMs: number;
  /** The end of the pause by the time of day: the same text as long as it lasts. */
  readonly until: string;
  readonly reason: EndReason;
};

const WHY: { readonly [reason in EndReason]: string } = {
  stalled: "its work held up the thread that it ran in for more than 2 seconds",
  memory: "its work took more memory than a thread may use",
  crashed: "its work ended the thread that it ran in",
  stopped: "its thread was stopped",
};

export const describeEnd = (reason: EndReason): string => WHY[reason];

export function createQuarantine(clock: Clock): Quarantine {
  const elapsed = (): number => clock.elapsed();
  const records = new Map<string, Record>();

  function recordOf(uid: string): Record | undefined {
    const found = records.get(uid);
    if (found === undefined || elapsed() - found.failedAt < found.pauseMs + FORGIVEN_MS) return found;
    records.delete(uid);
    return undefined;
  }

  return {
    add(uid, reason) {
      const failures = (recordOf(uid)?.failures ?? 0) + 1;
      const pauseMs = failures === 1 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (failures - 2), LONGEST_PAUSE_MS);
      const until = new Date(clock.now() + pauseMs).toISOString();
      records.set(uid, { failures, failedAt: elapsed(), pauseMs, until, reason });
    },
    has: (uid) => recordOf(uid) !== undefined,
    pauseOf(uid) {
      const found = recordOf(uid);
      if (found === undefined) return undefined;
      const remainingMs = found.failedAt + found.pauseMs - elapsed();
      if (remainingMs <= 0) return undefined;
      return {
        reason: CRASH_LOOP,
        message: `${WHY[found.reason]}, ${found.failures} times; it may start again at ${found.until}`,
        remainingMs,
      };
    },
    forget: (uid) => void records.delete(uid),
    get size() {
      for (const uid of [...records.keys()]) recordOf(uid);
      return records.size;
    },
  };
}

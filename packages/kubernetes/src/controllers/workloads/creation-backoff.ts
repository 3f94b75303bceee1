// Delays further creations for owners whose objects are refused, such as by a quota or a policy.

import type { Clock } from "@postern/apiserver/runtime/clock";

export type CreationBackoff = {
  /** Milliseconds until the owner may try again; 0 at once. A change of its spec begins anew. */
  delayMs(uid: string, generation: number): number;
  failed(uid: string, generation: number): void;
  succeeded(uid: string): void;
};

type Failures = { readonly generation: number; readonly count: number; readonly until: number };

const FIRST_MS = 1_000;
const MOST_MS = 5 * 60_000;
/** Owners that are remembered; those that failed first are forgotten first. */
const MOST_OWNERS = 10_000;

/** Changes of other objects wake an owner at any time, so that the delay of a queue alone bounds nothing. */
export function createCreationBackoff(clock: Pick<Clock, "elapsed">): CreationBackoff {
  const failures = new Map<string, Failures>();
  return {
    delayMs(uid, generation) {
      const known = failures.get(uid);
      return known?.generation === generation ? Math.max(0, known.until - clock.elapsed()) : 0;
    },
    failed(uid, generation) {
      const known = failures.get(uid);
      const count = known?.generation === generation ? known.count + 1 : 1;
      failures.delete(uid);
      failures.set(uid, {
        generation,
        count,
        until: clock.elapsed() + Math.min(FIRST_MS * 2 ** (count - 1), MOST_MS),
      });
      for (const [oldest] of failures) if (failures.size > MOST_OWNERS) failures.delete(oldest);
    },
    succeeded: (uid) => void failures.delete(uid),
  };
}

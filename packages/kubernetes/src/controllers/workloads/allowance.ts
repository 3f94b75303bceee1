// How much work the workload controllers of one cluster may do: a bucket that fills steadily.

import type { Clock } from "@postern/apiserver/runtime/clock";

export type Allowance = {
  /** Takes up to `wanted` of what there is; 0 when the bucket is empty. */
  take(wanted: number): number;
  /** Takes work that has been done in any case; the bucket may owe it. */
  spend(amount: number): void;
  /** Milliseconds until there is something to take; 0 when there is. */
  delayMs(): number;
  /**
   * The same for one of those that wait: each call gives a later turn, up to `MOST_WAIT_MS`. Hundreds of owners that all came back for the next unit would
   * look at their objects each time, for nothing.
   */
  turnMs(): number;
};

const MOST_WAIT_MS = 5_000;

/** Objects that controllers look at: about a twentieth of a processor. */
export const LOOKS = { perSecond: 200_000, burst: 1_000_000 };

/** Full at first. */
export function createAllowance(
  clock: Pick<Clock, "elapsed">,
  { perSecond, burst }: { readonly perSecond: number; readonly burst: number },
): Allowance {
  let left = burst;
  let filledAt = clock.elapsed();
  let lastTurnAt = Number.NEGATIVE_INFINITY;
  const fill = (): void => {
    const now = clock.elapsed();
    left = Math.min(burst, left + ((now - filledAt) * perSecond) / 1_000);
    filledAt = now;
  };
  const delayMs = (): number => {
    fill();
    return left >= 1 ? 0 : Math.ceil(((1 - left) * 1_000) / perSecond);
  };
  return {
    take(wanted) {
      fill();
      const taken = Math.max(0, Math.min(wanted, Math.floor(left)));
      left -= taken;
      return taken;
    },
    spend(amount) {
      fill();
      left -= amount;
    },
    delayMs,
    turnMs() {
      const delay = delayMs();
      if (delay === 0) return 0;
      const now = clock.elapsed();
      lastTurnAt = Math.min(Math.max(now + delay, lastTurnAt + 1_000 / perSecond), now + Math.max(delay, MOST_WAIT_MS));
      return Math.ceil(lastTurnAt - now);
    },
  };
}

// How much work the workload controllers of one cluster may do: a bucket that fills steadily.

import type { Clock } from "@postern/apiserver/runtime/clock";

export type Allowance = {
  /** Takes up to `wanted` of what there is; 0 when the bucket is empty. */
  take(wanted: number): number;
  /** Takes work that has been done in any case; the bucket may owe it. */
  spend(amount: number): void;
  /** Milliseconds until there is something to take; 0 when there is. */
  delayMs(): number;
};

/** Full at first. */
export function createAllowance(
  clock: Pick<Clock, "elapsed">,
  { perSecond, burst }: { readonly perSecond: number; readonly burst: number },
): Allowance {
  let left = burst;
  let filledAt = clock.elapsed();
  const fill = (): void => {
    const now = clock.elapsed();
    left = Math.min(burst, left + ((now - filledAt) * perSecond) / 1_000);
    filledAt = now;
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
    delayMs() {
      fill();
      return left >= 1 ? 0 : Math.ceil(((1 - left) * 1_000) / perSecond);
    },
  };
}

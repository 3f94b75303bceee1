// Records steps of the system clock while this process runs. An expiration that was known before the clock was set back is also reached by elapsed
// time, so that nothing that has expired is valid again.

import type { Clock } from "./clock.ts";

/** A small number, cheap to keep with every end: between two epochs the time of day was set. */
export type ClockEpoch = number;

export type ClockEpochs = {
  /** The present one, for a moment in time that is learned, or is made from the time of day, now. */
  current(): ClockEpoch;
  /** How late it is, in milliseconds since the epoch of Unix, for a moment that was learned in `epoch`: never goes back. */
  latest(epoch: ClockEpoch): number;
};

/** Clocks that are only slowed down or sped up differ by less between two looks at them. */
const SET_MS = 1_000;

export function createClockEpochs(clock: Clock): ClockEpochs {
  /** By epoch: the time of day minus the elapsed time. */
  const offsets: number[] = [clock.now() - clock.elapsed()];
  return {
    current() {
      const offset = clock.now() - clock.elapsed();
      const last = offsets.at(-1) ?? offset;
      if (Math.abs(offset - last) > SET_MS) offsets.push(offset);
      return offsets.length - 1;
    },
    latest: (epoch) => Math.max(clock.now(), clock.elapsed() + (offsets[epoch] ?? Number.NEGATIVE_INFINITY)),
  };
}

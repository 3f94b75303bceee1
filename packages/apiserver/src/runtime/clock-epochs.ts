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
  /**
   * The same for what was made at `moment` by the time of day, in milliseconds, such as a token that names its time of issue, and was not seen before:
   * where the clock was set back to a later time than that, it goes on by the clock before. A time that comes twice counts as the second one.
   */
  latestSince(moment: number): number;
};

/** Clocks that are only slowed down or sped up differ by less between two looks at them. */
const SET_MS = 1_000;

const epochsOf = new WeakMap<Clock, ClockEpochs>();

/** The epochs of a clock, one object for each clock: a change that one part of a thread has seen holds for all, also for those that start later. */
export function sharedEpochsOf(clock: Clock): ClockEpochs {
  const known = epochsOf.get(clock) ?? createClockEpochs(clock);
  epochsOf.set(clock, known);
  return known;
}

export function createClockEpochs(clock: Clock): ClockEpochs {
  /** By epoch. `offset` is the time of day minus the elapsed time, `from` the time of day at its beginning. */
  const epochs = [{ offset: clock.now() - clock.elapsed(), from: Number.NEGATIVE_INFINITY }];
  const current = (): ClockEpoch => {
    const from = clock.now();
    const offset = from - clock.elapsed();
    const last = epochs.at(-1)?.offset ?? offset;
    if (Math.abs(offset - last) > SET_MS) epochs.push({ offset, from });
    return epochs.length - 1;
  };
  const latest = (epoch: ClockEpoch): number =>
    Math.max(clock.now(), clock.elapsed() + (epochs[epoch]?.offset ?? Number.NEGATIVE_INFINITY));
  return {
    current,
    latest,
    latestSince(moment) {
      let time = clock.now();
      for (let epoch = current(); epoch >= 0; epoch--) {
        time = Math.max(time, latest(epoch));
        if ((epochs[epoch]?.from ?? moment) <= moment) break;
      }
      return time;
    },
  };
}

// The real clock, random source and timers.

import { randomBytes } from "node:crypto";
import type { Clock, Random, Runtime } from "./clock.ts";

/** The clock, the random source and the timers of the process. Timers do not keep the process alive. */
export const systemRuntime: Runtime = {
  clock: { now: () => Date.now(), elapsed: () => performance.now() },
  random: createPooledRandom(randomBytes),
  scheduler: {
    schedule(delayMs, task) {
      // A busy process comes to it after its moment, and newer Nodes warn of a negative delay.
      const timer = setTimeout(task, Math.max(delayMs, 0));
      timer.unref();
      return { [Symbol.dispose]: () => clearTimeout(timer) };
    },
  },
};

const POOL_BYTES = 4096;
const MAX_POOLED = 64;

/** Asks for much at once and gives it out in small pieces, each once: a call costs more than a kilobyte does. */
export function createPooledRandom(draw: (length: number) => Uint8Array): Random {
  let pool = new Uint8Array(0);
  let given = 0;
  return {
    bytes(length) {
      if (length > MAX_POOLED) return draw(length);
      if (given + length > pool.length) {
        pool = Uint8Array.from(draw(POOL_BYTES));
        given = 0;
      }
      const bytes = pool.slice(given, given + length);
      // Keys are made of it: what has been given out is nowhere else.
      pool.fill(0, given, given + length);
      given += length;
      return bytes;
    },
  };
}

// Remembers how the time of day was set while this process runs, so that nothing that has ended begins again because a clock was set
// back: an end that was learned before is also reached by the time that passes.

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
  /** Of each epoch: the time of day without the time that has passed. */
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

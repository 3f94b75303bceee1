// The real clock, random source and timers.

import { randomBytes, randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";
import type { Random, Runtime } from "./clock.ts";

/** The clock, the random source and the timers of the process. Timers do not keep the process alive. */
export const systemRuntime: Runtime = {
  clock: { now: () => Date.now(), elapsed: () => performance.now() },
  random: { ...createPooledRandom(randomBytes), uuid: () => randomUUID() },
  scheduler: {
    schedule(delayMs, task) {
      // A busy process comes to it after its moment, and newer Nodes warn of a negative delay.
      return setTimeout(task, Math.max(delayMs, 0)).unref();
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

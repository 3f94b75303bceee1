// The real clock, random source and timers.

import { randomBytes } from "node:crypto";
import type { Runtime } from "./clock.ts";

export const systemRuntime: Runtime = {
  clock: { now: () => Date.now(), elapsed: () => performance.now() },
  random: { bytes: (length) => randomBytes(length) },
  scheduler: {
    schedule(delayMs, task) {
      const timer = setTimeout(task, delayMs);
      timer.unref();
      return { [Symbol.dispose]: () => clearTimeout(timer) };
    },
  },
};

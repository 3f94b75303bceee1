// Threads with as large a young generation as they may have, from their start on. See docs/adr/0328.

import { setFlagsFromString } from "node:v8";
import type { Worker } from "node:worker_threads";

/** As large as that of the main thread. The limits of a thread make it smaller. */
const HALF_MIB = 16;

/**
 * Threads that `start` starts have the whole young generation from the beginning. V8 begins with 1 MiB, and the growth factor holds for all threads of the process: once
 * the main thread has its size, that of another would not grow any more, and be collected sixteen times as often.
 */
export function withWholeYoungGeneration<Options>(
  start: (options: Options) => Worker,
  setFlag: (flag: string) => void = setFlagsFromString,
): (options: Options) => Worker {
  let starting = 0;
  return (options) => {
    // A thread reads it when it begins; 0 is the default of V8.
    setFlag(`--min-semi-space-size=${HALF_MIB}`);
    starting++;
    let isStarting = true;
    const begun = (): void => {
      if (!isStarting) return;
      isStarting = false;
      starting--;
      if (starting === 0) setFlag("--min-semi-space-size=0");
    };
    return start(options).once("online", begun).once("exit", begun);
  };
}

// Scans of many objects in the background, which feed the queue of a controller.

import { bothDone } from "@postern/apimachinery/steps/caught";

export type Scans = Disposable & {
  /** Aborted when disposed. */
  readonly signal: AbortSignal;
  add(scan: Promise<void>): void;
  /** Resolves when all scans are done. An error of one is thrown later, where the process reports it. */
  idle(): Promise<void>;
};

export function createScans(): Scans {
  const stopping = new AbortController();
  let running = Promise.resolve();
  return {
    signal: stopping.signal,
    add(scan) {
      running = bothDone(running, scan);
    },
    idle: () => running,
    [Symbol.dispose]: () => stopping.abort(),
  };
}

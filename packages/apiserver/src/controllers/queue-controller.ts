// A controller made of a work queue and of the sources of its keys.

import type { Controller } from "./controller-port.ts";
import type { WorkQueue } from "./work-queue.ts";

type Work = Pick<WorkQueue, "idle" | typeof Symbol.dispose>;

/** A queue together with the work that fills it, such as a sweeper or scans: idle when both are. */
export const filledQueue = (filler: Work, queue: Work): Work => ({
  async idle() {
    await filler.idle();
    await queue.idle();
  },
  [Symbol.dispose]() {
    filler[Symbol.dispose]();
    queue[Symbol.dispose]();
  },
});

/** Idle when the queue is. Disposing ends what feeds it first, in this order, and then the queue. */
export const createQueueController = (queue: Work, feeds: readonly Disposable[]): Controller => ({
  idle: () => queue.idle(),
  [Symbol.dispose]() {
    for (const feed of feeds) feed[Symbol.dispose]();
    queue[Symbol.dispose]();
  },
});

// A controller that is a queue of work and what brings keys to it.

import type { Controller } from "./controller-port.ts";
import type { WorkQueue } from "./work-queue.ts";

/** Idle when the queue is. Disposing ends what feeds it first, in this order, and then the queue. */
export const createQueueController = (
  queue: Pick<WorkQueue, "idle" | typeof Symbol.dispose>,
  feeds: readonly Disposable[],
): Controller => ({
  idle: () => queue.idle(),
  [Symbol.dispose]() {
    for (const feed of feeds) feed[Symbol.dispose]();
    queue[Symbol.dispose]();
  },
});

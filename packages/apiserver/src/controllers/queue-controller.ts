// A controller made of a work queue and of the sources of its keys.

import { followView } from "../cache/view-informer.ts";
import type { Scheduler } from "../runtime/clock.ts";
import type { ControlledResource, Controller } from "./controller-port.ts";
import type { WorkQueue } from "./work-queue.ts";

type Work = Pick<WorkQueue, "idle" | typeof Symbol.dispose>;

/** A sweeper and the queue that it fills, as one. */
export const sweptQueue = (sweeper: Work, queue: Work): Work => ({
  async idle() {
    await sweeper.idle();
    await queue.idle();
  },
  [Symbol.dispose]() {
    sweeper[Symbol.dispose]();
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

// Reports the keys of a resource's objects to a controller.

/** Calls back with the key of every object that is there, comes, changes or goes, until it is disposed. */
export function followKeys(
  { view, keys }: Pick<ControlledResource, "view" | "keys">,
  scheduler: Scheduler,
  onKey: (key: string) => void,
): Disposable {
  const tell = ({ key }: { readonly key: string }): void => onKey(key);
  return followView({ view, prefix: keys.prefix }, scheduler, {
    replace(objects) {
      for (const object of objects) tell(object);
    },
    put: tell,
    delete: tell,
  });
}

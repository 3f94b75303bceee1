// A signal that many wait for at the same time, such as the end of a store.

import { setMaxListeners } from "node:events";

/** Node before 22 warns of a leak where a signal has more than ten listeners, as one with eleven watches has. */
export function createSharedAbortController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

// An AbortController whose signal many listeners share.

import { setMaxListeners } from "node:events";

/** Node before 22 warns of a leak where a signal has more than ten listeners, as one with eleven watches has. */
export function createSharedAbortController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

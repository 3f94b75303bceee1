// Notes that each thread of a server sends to all others.

import { BroadcastChannel } from "node:worker_threads";

export type ThreadChannel<T> = {
  /** A plain value. */
  send(value: T): void;
  /** Takes the place of an earlier listener. */
  onReceive(listener: (value: T) => void): void;
};

/** Joins all threads of this process that open the same name. */
export function openThreadChannel<T>(name: string): ThreadChannel<T> & Disposable {
  const channel = new BroadcastChannel(name);
  channel.unref();
  return {
    send: (value) => channel.postMessage(value),
    onReceive(listener) {
      // Only values of the same channel arrive.
      channel.onmessage = (message) => listener((message as { readonly data: T }).data);
    },
    [Symbol.dispose]: () => channel.close(),
  };
}

// Joins two connections that have left HTTP, byte for byte, until both are closed.

import type { Duplex } from "node:stream";
import type { Scheduler } from "@postern/apiserver/runtime/clock";

/** `head` is what came on the connection behind its HTTP headers. */
export type SplicedSocket = { readonly socket: Duplex; readonly head: Uint8Array };

export type SpliceOptions = {
  readonly signal: AbortSignal;
  readonly scheduler: Scheduler;
  /**
   * How long the one side may say nothing once the other has ended: somebody who has left for good looks like one who has merely
   * finished talking.
   */
  readonly halfOpenTimeoutMs: number;
};

/**
 * Each side's end is passed on as an end, so that the other may go on talking; a side that breaks off takes the other with it, and
 * so does the signal. Neither side is read faster than the other takes it. Never rejects.
 */
export function spliceSockets(first: SplicedSocket, second: SplicedSocket, options: SpliceOptions): Promise<void> {
  const { signal } = options;
  const sockets = [first.socket, second.socket];
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const allClosed = Promise.all(sockets.map(closed));
  signal.addEventListener("abort", destroyAll, { once: true });
  if (signal.aborted) destroyAll();
  join(first, second.socket);
  join(second, first.socket);
  const waits = [
    boundHalfOpen(first.socket, second.socket, options),
    boundHalfOpen(second.socket, first.socket, options),
  ];
  return allClosed.then(() => {
    signal.removeEventListener("abort", destroyAll);
    for (const wait of waits) wait[Symbol.dispose]();
  });
}

/** Destroys `other` when it is silent after the end of `ended`. */
function boundHalfOpen(ended: Duplex, other: Duplex, { scheduler, halfOpenTimeoutMs }: SpliceOptions): Disposable {
  let progressed = false;
  let timer: Disposable | undefined;
  const onData = (): void => {
    progressed = true;
  };
  const check = (): void => {
    if (!progressed) return void other.destroy();
    progressed = false;
    timer = scheduler.schedule(halfOpenTimeoutMs, check);
  };
  ended.once("end", () => {
    other.on("data", onData);
    timer = scheduler.schedule(halfOpenTimeoutMs, check);
  });
  return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}

function join({ socket: source, head }: SplicedSocket, destination: Duplex): void {
  // Has to be set before the end comes, or Node answers it with an end of our own.
  source.allowHalfOpen = true;
  source.on("error", () => destination.destroy());
  source.once("close", () => {
    // What came in whole still goes out; then there is nobody left to answer.
    if (source.readableEnded && !destination.writableFinished) destination.once("finish", () => destination.destroy());
    else destination.destroy();
  });
  if (head.length > 0) destination.write(head);
  source.pipe(destination);
}

function closed(socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
}

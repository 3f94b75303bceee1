// Joins two connections that have left HTTP, byte for byte, until both are closed.

import type { Duplex } from "node:stream";
import { caught } from "@postern/apimachinery/steps/caught";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { TappedStreams } from "./stream-tap.ts";

/** `head` is what came on the connection behind its HTTP headers. */
type SplicedSocket = { readonly socket: Duplex; readonly head: Uint8Array };

export type SpliceOptions = {
  readonly signal: AbortSignal;
  readonly scheduler: Scheduler;
  /**
   * How long one side may send nothing once the other has ended: a peer that is gone looks like one that has only finished
   * sending.
   */
  readonly halfOpenTimeoutMs: number;
  /** Streams that the bytes pass through, of which the client is the first side. Absent: none. */
  readonly through?: TappedStreams | undefined;
};

/**
 * Each side's end is passed on as an end, so that the other may go on talking; a side that breaks off takes the other with it, and
 * so does the signal. Neither side is read faster than the other takes it. Rejects only with an error of its own, behind which both are closed.
 */
export function spliceSockets(first: SplicedSocket, second: SplicedSocket, options: SpliceOptions): Promise<void> {
  const { signal, through } = options;
  const sockets = [first.socket, second.socket];
  const destroyAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
    destroyAll();
  };
  const allClosed = Promise.all(sockets.map(closed));
  signal.addEventListener("abort", destroyAll, { once: true });
  if (signal.aborted) destroyAll();
  join(first, second.socket, fail, through?.fromClient);
  join(second, first.socket, fail, through?.fromTarget);
  const waits = [
    boundHalfOpen(first.socket, second.socket, fail, options),
    boundHalfOpen(second.socket, first.socket, fail, options),
  ];
  return allClosed.then(() => {
    signal.removeEventListener("abort", destroyAll);
    for (const wait of waits) wait[Symbol.dispose]();
    if (failure !== undefined) throw failure.error;
  });
}

type Fail = (error: unknown) => void;

/** Destroys `other` when it is silent after the end of `ended`. */
function boundHalfOpen(
  ended: Duplex,
  other: Duplex,
  fail: Fail,
  { scheduler, halfOpenTimeoutMs }: SpliceOptions,
): Disposable {
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
  const onEnd = (): void => {
    other.on("data", caught(fail, onData));
    timer = scheduler.schedule(halfOpenTimeoutMs, caught(fail, check));
  };
  ended.once("end", caught(fail, onEnd));
  return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}

function join(
  { socket: source, head }: SplicedSocket,
  destination: Duplex,
  fail: Fail,
  through: TappedStreams["fromClient"] | undefined,
): void {
  // Has to be set before the end comes, or Node answers it with an end of our own.
  source.allowHalfOpen = true;
  const destroy = caught(fail, () => destination.destroy());
  const onClose = (): void => {
    // Complete data is still sent; then there is no client left to answer.
    if (source.readableEnded && !destination.writableFinished) destination.once("finish", destroy);
    else destroy();
  };
  source.on("error", destroy);
  source.once("close", caught(fail, onClose));
  if (through !== undefined) {
    through.on("error", caught(fail, fail));
    through.once(
      "close",
      caught(fail, () => !through.readableEnded && destroy()),
    );
    through.pipe(destination);
  }
  const next = through ?? destination;
  if (head.length > 0) next.write(head);
  source.pipe(next);
}

function closed(socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", resolve);
  });
}

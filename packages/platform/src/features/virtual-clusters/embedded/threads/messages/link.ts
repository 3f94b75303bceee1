// Calls and notes over a message port, in both directions. They arrive in the order in which they were sent; those of one turn of the event loop go
// together.

import type { TransferListItem } from "node:worker_threads";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import { decodeError, encodeError, type WireError } from "./wire-errors.ts";

/** Arguments and result of each method. */
export type Calls = { readonly [method: string]: { readonly args: unknown; readonly result: unknown } };
/** Arguments of each method without a result. */
export type Notes = { readonly [method: string]: unknown };

export type CallHandlers<C extends Calls> = {
  readonly [M in keyof C]: (
    args: C[M]["args"],
    call: IncomingCall,
  ) => Awaitable<C[M]["result"] | Transferred<C[M]["result"]>>;
};
export type NoteHandlers<N extends Notes> = { readonly [M in keyof N]: (args: N[M]) => void };

/** A call that the other side waits for. */
export type IncomingCall = {
  /** Called once when the caller gives up. */
  onCancel?: (reason: unknown) => void;
};

/** A result with buffers that are moved, not copied. */
export class Transferred<T> {
  readonly value: T;
  readonly buffers: readonly TransferListItem[];

  constructor(value: T, buffers: readonly TransferListItem[]) {
    this.value = value;
    this.buffers = buffers;
  }
}

/** One end of a channel: a Worker, or the port of its parent. */
export type Port = {
  postMessage(message: unknown, transfer?: readonly TransferListItem[]): void;
  on(event: "message", listener: (message: Batch) => void): unknown;
};

/** The parts of messages, one after the other. */
type Batch = readonly unknown[];

type Message =
  | readonly [kind: typeof CALL, id: number, method: string, args: unknown]
  | readonly [kind: typeof RESULT, id: number, method: undefined, value: unknown]
  | readonly [kind: typeof ERROR, id: number, method: undefined, error: WireError]
  | readonly [kind: typeof CANCEL, id: number, method: undefined, reason: WireError]
  | readonly [kind: typeof NOTE, id: 0, method: string, args: unknown];

const CALL = 0;
const RESULT = 1;
const ERROR = 2;
const CANCEL = 3;
const NOTE = 4;
/** Parts of a message. */
const PARTS = 4;

/** More are sent at once: the other side works on them meanwhile. */
const MOST_TOGETHER = 16;

/** Marks for which cluster this thread works, across calls. Default: no mark. */
export type WorkMark = { save(): number; restore(mark: number): void };

export type LinkOptions<C extends Calls, N extends Notes> = {
  readonly port: Port;
  readonly calls: CallHandlers<C>;
  readonly notes: NoteHandlers<N>;
  readonly mark?: WorkMark;
  /** Takes the errors of notes. */
  readonly onError: (error: unknown) => void;
};

export type CallOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly transfer?: readonly TransferListItem[];
};

type Pending = {
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  readonly mark: number;
};

const NO_MARK: WorkMark = { save: () => 0, restore: () => undefined };

export type Link<C extends Calls, N extends Notes> = {
  /** Rejects with the error of the other side, with the reason of the signal, and with that of `close`. */
  call<M extends keyof C & string>(method: M, args: C[M]["args"], options?: CallOptions): Promise<C[M]["result"]>;
  note<M extends keyof N & string>(method: M, args: N[M], transfer?: readonly TransferListItem[]): void;
  /** All calls in progress are rejected, and those that follow. */
  close(reason: Error): void;
  /** Calls of both sides that have no answer yet. */
  readonly open: number;
};

/** `Own` are the methods of this side, `Peer` those of the other. */
export function createLink<Own extends Calls, OwnNotes extends Notes, Peer extends Calls, PeerNotes extends Notes>({
  port,
  calls,
  notes,
  mark = NO_MARK,
  onError,
}: LinkOptions<Own, OwnNotes>): Link<Peer, PeerNotes> {
  const pending = new Map<number, Pending>();
  const incoming = new Map<number, IncomingCall>();
  const outbox = createOutbox(port, refuseToSend);
  let lastId = 0;
  let closed: Error | undefined;

  /** Something in the message cannot be copied. */
  function refuseToSend([kind, id]: Message, error: unknown): void {
    if (kind === CALL) settle(id, ({ reject }) => reject(error));
    else if (kind === RESULT) outbox.add([ERROR, id, undefined, encodeError(error)]);
    else onError(error);
  }

  function answer(id: number, value: unknown): void {
    if (!incoming.delete(id)) return;
    if (value instanceof Transferred) outbox.add([RESULT, id, undefined, value.value], value.buffers);
    else outbox.add([RESULT, id, undefined, value]);
  }

  function refuse(id: number, error: unknown): void {
    if (incoming.delete(id)) outbox.add([ERROR, id, undefined, encodeError(error)]);
  }

  function serve(id: number, method: string, args: unknown): void {
    const call: IncomingCall = {};
    incoming.set(id, call);
    try {
      const handler = calls[method];
      if (handler === undefined) throw new Error(`no method ${method}`);
      const value = handler(args, call);
      if (value instanceof Promise) {
        value.then(
          (result) => answer(id, result),
          (error: unknown) => refuse(id, error),
        );
      } else answer(id, value);
    } catch (error) {
      refuse(id, error);
    }
  }

  function settle(id: number, settleWith: (found: Pending) => void): void {
    const found = pending.get(id);
    if (found === undefined) return;
    pending.delete(id);
    mark.restore(found.mark);
    settleWith(found);
  }

  function take([kind, id, method, value]: Message): void {
    if (kind === CALL) serve(id, method, value);
    // The other side answers a method with its result.
    else if (kind === RESULT) settle(id, ({ resolve }) => resolve(value as never));
    else if (kind === ERROR) settle(id, ({ reject }) => reject(decodeError(value)));
    else if (kind === CANCEL) incoming.get(id)?.onCancel?.(decodeError(value));
    else notes[method]?.(value as never);
  }

  // Messages that have arrived and were not taken yet, the oldest first.
  const arrived: Message[] = [];
  let isTaking = false;

  /** Each after all that follows at once from the one before: that works under the mark which the one before has set. */
  function takeNext(): void {
    const message = closed === undefined ? arrived.shift() : undefined;
    if (message === undefined) {
      isTaking = false;
      return;
    }
    try {
      take(message);
    } catch (error) {
      onError(error);
    }
    if (arrived.length > 0) queueMicrotask(goOn);
    else isTaking = false;
  }
  const goOn = (): void => process.nextTick(takeNext);

  port.on("message", (batch) => {
    for (let at = 0; at < batch.length; at += PARTS) {
      // The other side has sent it as a message.
      arrived.push([batch[at], batch[at + 1], batch[at + 2], batch[at + 3]] as unknown as Message);
    }
    if (isTaking) return;
    isTaking = true;
    takeNext();
  });

  return {
    call(method, args, { signal, transfer } = {}) {
      if (closed !== undefined) return Promise.reject(closed);
      if (signal?.aborted === true) return Promise.reject(signal.reason);
      return new Promise((resolve, reject) => {
        const id = ++lastId;
        if (signal === undefined) {
          pending.set(id, { resolve, reject, mark: mark.save() });
        } else {
          const cancel = (): void => {
            if (!pending.delete(id)) return;
            outbox.add([CANCEL, id, undefined, encodeError(signal.reason)]);
            reject(signal.reason);
          };
          signal.addEventListener("abort", cancel, { once: true });
          const forget = (): void => signal.removeEventListener("abort", cancel);
          pending.set(id, {
            resolve(value) {
              forget();
              resolve(value);
            },
            reject(error) {
              forget();
              reject(error);
            },
            mark: mark.save(),
          });
        }
        outbox.add([CALL, id, method, args], transfer);
      });
    },
    note: (method, args, transfer) => outbox.add([NOTE, 0, method, args], transfer),
    close(reason) {
      if (closed !== undefined) return;
      closed = reason;
      outbox.close();
      for (const { reject } of [...pending.values()]) reject(reason);
      pending.clear();
      for (const call of incoming.values()) call.onCancel?.(reason);
      incoming.clear();
    },
    get open() {
      return pending.size + incoming.size;
    },
  };
}

/** Sends the messages of one turn of the event loop together. `onFailure` is called with those that cannot be copied. */
function createOutbox(port: Port, onFailure: (message: Message, error: unknown) => void) {
  let waiting: Message[] = [];
  let moved: (readonly TransferListItem[])[] = [];
  let planned: NodeJS.Immediate | undefined;
  let isClosed = false;

  function send(): void {
    if (planned !== undefined) clearImmediate(planned);
    planned = undefined;
    if (isClosed) return;
    const [messages, buffers] = [waiting, moved];
    waiting = [];
    moved = [];
    try {
      if (buffers.length === 0) port.postMessage(messages.flat());
      else port.postMessage(messages.flat(), buffers.flat());
    } catch (error) {
      if (messages.length === 1) {
        const [message] = messages;
        if (message !== undefined) onFailure(message, error);
      } else sendEach(messages);
    }
  }

  /** Nothing was sent, since one of them cannot be copied. */
  function sendEach(messages: readonly Message[]): void {
    for (const message of messages) {
      try {
        // With copies of all buffers: which of them belong to this one is not known.
        port.postMessage(message);
      } catch (error) {
        onFailure(message, error);
      }
    }
  }

  return {
    add(message: Message, transfer?: readonly TransferListItem[]): void {
      if (isClosed) return;
      waiting.push(message);
      if (transfer !== undefined && transfer.length > 0) moved.push(transfer);
      if (waiting.length >= MOST_TOGETHER) send();
      else planned ??= setImmediate(send);
    },
    close(): void {
      isClosed = true;
      waiting = [];
      moved = [];
      if (planned !== undefined) clearImmediate(planned);
    },
  };
}

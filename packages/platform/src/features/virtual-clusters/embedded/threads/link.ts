// Calls and notes over a message port, in both directions. Messages arrive in the order in which they were posted.

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
  on(event: "message", listener: (message: Message) => void): unknown;
};

type Message =
  | readonly ["call", id: number, method: string, args: unknown]
  | readonly ["result", id: number, value: unknown]
  | readonly ["error", id: number, error: WireError]
  | readonly ["cancel", id: number, reason: WireError]
  | readonly ["note", method: string, args: unknown];

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
  let lastId = 0;
  let closed: Error | undefined;

  const post = (message: Message, transfer?: readonly TransferListItem[]): void => {
    if (closed === undefined) port.postMessage(message, transfer);
  };

  function answer(id: number, value: unknown): void {
    if (!incoming.delete(id)) return;
    if (value instanceof Transferred) post(["result", id, value.value], value.buffers);
    else post(["result", id, value]);
  }

  function refuse(id: number, error: unknown): void {
    if (incoming.delete(id)) post(["error", id, encodeError(error)]);
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

  port.on("message", (message) => {
    if (closed !== undefined) return;
    switch (message[0]) {
      case "call":
        return serve(message[1], message[2], message[3]);
      case "result":
        // The other side answers a method with its result.
        return settle(message[1], ({ resolve }) => resolve(message[2] as never));
      case "error":
        return settle(message[1], ({ reject }) => reject(decodeError(message[2])));
      case "cancel": {
        const call = incoming.get(message[1]);
        return call?.onCancel?.(decodeError(message[2]));
      }
      case "note":
        try {
          notes[message[1]]?.(message[2] as never);
        } catch (error) {
          onError(error);
        }
    }
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
            post(["cancel", id, encodeError(signal.reason)]);
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
        try {
          post(["call", id, method, args], transfer);
        } catch (error) {
          // The arguments cannot be copied.
          settle(id, ({ reject: fail }) => fail(error));
        }
      });
    },
    note: (method, args, transfer) => post(["note", method, args], transfer),
    close(reason) {
      closed ??= reason;
      for (const { reject } of [...pending.values()]) reject(reason);
      pending.clear();
      for (const call of incoming.values()) call.onCancel?.(reason);
      incoming.clear();
    },
  };
}

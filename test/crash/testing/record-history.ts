// Clients that create, update, delete and get a few keys at the same time, and everything they learned.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { Revision, Storage } from "@postern/apiserver/storage/storage";
import {
  KeyExistsError,
  RevisionConflictError,
  StorageUnavailableError,
} from "@postern/apiserver/storage/storage-errors";
import type { Input, Operation, UNTOLD, WriteId } from "./linearizability.ts";

/** Keeps values by key, with compare-and-swap: a store, or a server in front of one. */
export type Register = Pick<Storage, "get" | "create" | "update"> & {
  /** Without the revision where that is not told. */
  delete(key: string, expected: Revision): Promise<Revision | undefined>;
};

/** The register holds something else than was expected, and does not say what. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
  readonly seen: undefined | typeof UNTOLD;

  constructor(seen: undefined | typeof UNTOLD) {
    super("refused");
    this.seen = seen;
  }
}

/** It is certain that nothing was done; the client tries something else, later. */
export class NothingDoneError extends Error {
  override readonly name = "NothingDoneError";
}

export type HistoryOptions = {
  /** Client n uses the store n modulo their number; asked anew for each operation. */
  readonly stores: () => readonly Register[];
  readonly clients: number;
  readonly keys: number;
  /** In all. */
  readonly operations: number;
  readonly next: (bound: number) => number;
  /** Wait of a client before it goes on when the store could not serve; a turn of the event loop when absent. */
  readonly afterOutage?: () => Promise<unknown>;
  /** Told after each operation how many there have been. */
  readonly onOperation?: (count: number) => void;
};

export type History = {
  readonly byKey: ReadonlyMap<string, readonly Operation[]>;
  /** Acknowledged writes in the order they were called. */
  readonly writes: readonly { readonly call: number; readonly return: number; readonly revision: Revision }[];
  readonly counts: { readonly done: number; readonly refused: number; readonly unknown: number };
};

type Known = { readonly id: number; readonly revision: Revision } | undefined;

export async function recordHistory(options: HistoryOptions): Promise<History> {
  const { stores, clients, keys, operations, next, onOperation = () => {}, afterOutage = () => nextTurn() } = options;
  const byKey = new Map<string, Operation[]>();
  const writes: { call: number; return: number; revision: Revision }[] = [];
  const counts = { done: 0, refused: 0, unknown: 0 };
  let now = 0;
  let ids = 0;
  let begun = 0;
  let ended = 0;

  const client = async (number: number) => {
    const known = new Map<string, Known>();
    while (begun++ < operations) {
      const all = stores();
      const store = all[number % all.length]!;
      const key = `/registry/crash/core/things/${next(keys)}`;
      const input = choose(next, known.has(key), known.get(key)?.id, () => ++ids);
      const call = now++;
      const record = (output: Operation["output"]) => {
        const history = byKey.get(key);
        if (history === undefined) byKey.set(key, [{ input, call, output }]);
        else history.push({ input, call, output });
        counts[output.type]++;
      };
      try {
        const { entry, revision } = await perform(store, key, input, known.get(key)?.revision ?? 0);
        record({ type: "done", seen: entry?.id, return: now++ });
        known.set(key, entry);
        if (revision !== undefined) writes.push({ call, return: now - 1, revision });
      } catch (error) {
        if (error instanceof KeyExistsError || error instanceof RevisionConflictError) {
          const current = toKnown(error.current);
          record({ type: "refused", seen: current?.id, return: now++ });
          known.set(key, current);
        } else if (error instanceof RefusedError) {
          record({ type: "refused", seen: error.seen, return: now++ });
          known.delete(key);
        } else if (error instanceof NothingDoneError) {
          begun--;
          await afterOutage();
          continue;
        } else if (error instanceof StorageUnavailableError) {
          // A read without an answer says nothing.
          if (input.type !== "get") record({ type: "unknown" });
          known.delete(key);
          await afterOutage();
        } else throw error;
      }
      onOperation(++ended);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  return { byKey, writes, counts };
}

function choose(next: (bound: number) => number, looked: boolean, known: WriteId, newId: () => number): Input {
  const dice = next(10);
  // A client that does not know the value mostly reads first.
  if (dice < (looked ? 4 : 8)) return { type: "get" };
  if (known === undefined) return { type: "create", id: newId() };
  return dice < 9 ? { type: "update", id: newId(), expected: known } : { type: "delete", expected: known };
}

async function perform(
  store: Register,
  key: string,
  input: Input,
  expected: Revision,
): Promise<{ entry: Known; revision?: Revision }> {
  switch (input.type) {
    case "get":
      return { entry: toKnown(await store.get(key)) };
    case "create": {
      const revision = await store.create(key, Buffer.from(String(input.id)));
      return { entry: { id: input.id, revision }, revision };
    }
    case "update": {
      const revision = await store.update(key, Buffer.from(String(input.id)), expected);
      return { entry: { id: input.id, revision }, revision };
    }
    case "delete": {
      const revision = await store.delete(key, expected);
      return { entry: undefined, ...(revision === undefined ? {} : { revision }) };
    }
  }
}

function toKnown(entry: { readonly value: Uint8Array; readonly revision: Revision } | undefined): Known {
  return entry && { id: Number(Buffer.from(entry.value).toString()), revision: entry.revision };
}

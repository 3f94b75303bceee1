// A store of your own: the store in memory, with a journal of its writes in a file.

import { open } from "node:fs/promises";
import {
  createMemoryStorage,
  KeyExistsError,
  type Revision,
  RevisionConflictError,
  type Storage,
  StorageUnavailableError,
} from "@postern/kubernetes";

/** A line of the journal. Each counts one revision, except for compactions. */
type Entry =
  | { readonly type: "put"; readonly key: string; readonly value: string }
  | { readonly type: "delete"; readonly key: string }
  | { readonly type: "compact"; readonly revision: Revision };

/**
 * Keeps objects in memory and every write in the file at `path`, which is created when it is missing, and read at the start. For one process. The
 * journal only grows: a store for production would write the state into a new file from time to time.
 */
export async function openJournalStorage(path: string): Promise<Storage> {
  const memory = createMemoryStorage();
  const file = await open(path, "a+", 0o600);
  const text = await file.readFile("utf8");
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  // A crash tears the last line at most, and its write was not acknowledged.
  await file.truncate(Buffer.byteLength(whole));
  for (const line of whole.split("\n")) if (line !== "") await apply(JSON.parse(line) as Entry);

  let closed = false;
  let failed: unknown;
  let last: Promise<unknown> = Promise.resolve();
  /** One write after the other: the order of the lines is that of the revisions. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work);
    last = result.catch(() => {});
    return result;
  }
  /** A write is durable before observers and its client learn of it. */
  async function record(entry: Entry): Promise<void> {
    if (closed) throw new StorageUnavailableError("the journal is closed");
    // A line may be incomplete from then on: only a restart knows where the journal ends.
    if (failed !== undefined) throw new StorageUnavailableError("the journal has failed", { cause: failed });
    try {
      await file.appendFile(`${JSON.stringify(entry)}\n`);
      await file.datasync();
    } catch (error) {
      failed = error;
      throw new StorageUnavailableError("the journal cannot be written", { cause: error });
    }
  }
  async function expect(key: string, expected: Revision): Promise<void> {
    const current = await memory.get(key);
    if (current?.revision !== expected) throw new RevisionConflictError(key, expected, current);
  }
  async function apply(entry: Entry): Promise<void> {
    if (entry.type === "compact") return await memory.compact(entry.revision);
    const current = await memory.get(entry.key);
    if (entry.type === "delete") await memory.delete(entry.key, current?.revision ?? 0);
    else if (current === undefined) await memory.create(entry.key, Buffer.from(entry.value, "base64"));
    else await memory.update(entry.key, Buffer.from(entry.value, "base64"), current.revision);
  }
  const putOf = (key: string, value: Uint8Array): Entry => ({
    type: "put",
    key,
    value: Buffer.from(value).toString("base64"),
  });

  return {
    get: (key, options) => memory.get(key, options),
    list: (prefix, options) => memory.list(prefix, options),
    watch: (prefix, fromRevision, observer) => memory.watch(prefix, fromRevision, observer),
    currentRevision: () => memory.currentRevision(),
    checkRoom: (key, value, kind) => memory.checkRoom(key, value, kind),
    known: memory.known,
    get oldestRevision() {
      return memory.oldestRevision ?? 1;
    },
    create: (key, value, content) =>
      inTurn(async () => {
        const current = await memory.get(key);
        if (current !== undefined) throw new KeyExistsError(key, current);
        await memory.checkRoom(key, value, "create");
        await record(putOf(key, value));
        return await memory.create(key, value, content);
      }),
    update: (key, value, expected) =>
      inTurn(async () => {
        await expect(key, expected);
        await memory.checkRoom(key, value, "update");
        await record(putOf(key, value));
        return await memory.update(key, value, expected);
      }),
    delete: (key, expected) =>
      inTurn(async () => {
        await expect(key, expected);
        await record({ type: "delete", key });
        return await memory.delete(key, expected);
      }),
    compact: (revision) =>
      inTurn(async () => {
        // Throws for a revision in the future, which must not come into the journal.
        await memory.compact(revision);
        await record({ type: "compact", revision });
      }),
    async [Symbol.asyncDispose]() {
      if (closed) return;
      await inTurn(async () => {
        closed = true;
      });
      await memory[Symbol.asyncDispose]();
      await file.close();
    },
  };
}

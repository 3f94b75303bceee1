// The SQLite store in the main thread: the storage port in front of the thread that owns the database.

import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import type {
  ListOptions,
  ListResult,
  Revision,
  Storage,
  StoredEntry,
  WatchObserver,
} from "@postern/apiserver/storage/storage";
import { StorageUnavailableError, ValueTooLargeError } from "@postern/apiserver/storage/storage-errors";
import type { SqliteExamination } from "./examine-sqlite.ts";
import { createNewestRevision, newestReader } from "./newest-revision.ts";
import { StoreCorruptError, toOpenError } from "./sqlite-errors.ts";
import { StoreClient } from "./store-client.ts";
import { portOfChannel, portOfThread, type StorePort } from "./store-port.ts";
import type { FromWorker, WorkerOptions } from "./worker-protocol.ts";
import { writeWhole } from "./write-whole.ts";

export type SqliteStorageOptions = {
  /** The database file. It and its folder are created, readable by the owner only, if they do not exist. */
  readonly path: string;
  /** The maximum size of the file, above which writes fail with StorageFullError; absent: the size of the disk. */
  readonly maxBytes?: number;
  /** A file of up to this many bytes is checked before it is opened, a larger one while it serves. Default: 64 MiB. */
  readonly maxQuickCheckBytes?: number;
  /** Called once after a larger file was checked; `fault` is undefined if it is intact. */
  readonly onChecked?: (fault: string | undefined) => void;
  /** Called with each failure of the database but those for lack of space, beside the one that it fails. */
  readonly onFailure?: (error: Error) => void;
  /** Other threads may use the store as well. Default: this one uses it alone. */
  readonly isShared?: boolean;
};

/** A place in the store for another thread, to which it can be sent once; `port` has to be transferred. */
export type SqliteConnection = {
  readonly path: string;
  readonly port: MessagePort;
  readonly newest: SharedArrayBuffer;
};

export type SharedSqliteStorage = SqliteStorage & {
  /** Throws where the store is not shared. */
  connect(): SqliteConnection;
};

export type SqliteStorage = Storage & {
  /**
   * Writes the newest state to a new file while the store serves, and resolves with its revision. The file is a complete store
   * without earlier history, and appears at `path` only once it is complete and on disk. Rejects with the error of the file system (EEXIST
   * if `path` exists), StorageFullError, or RevisionCompactedError if a compaction overtook it.
   */
  backupTo(path: string): Promise<Revision>;
  /** For `/readyz`: rejects with StoreCorruptError once damage was found. */
  readonly health: { readonly name: "store-integrity"; check(): Promise<void> };
};

/** More than any object in a request, with the fields that the server adds. */
const MAX_VALUE_BYTES = 8 << 20;

/** Rejects with StoreLockedError, StoreCorruptError, StoreVersionError or StorageUnavailableError. */
export async function openSqliteStorage(options: SqliteStorageOptions): Promise<SharedSqliteStorage> {
  const { path, maxBytes, maxQuickCheckBytes, onChecked, onFailure, isShared = false } = options;
  const newest = isShared ? createNewestRevision() : undefined;
  const worker = startWorker({
    path,
    ...(newest !== undefined && { newest }),
    ...(maxBytes !== undefined && { maxBytes }),
    ...(maxQuickCheckBytes !== undefined && { maxQuickCheckBytes }),
  });
  const first = await firstMessage(worker);
  if (first.type === "opened") {
    const port = portOfThread(worker);
    const storage = storageOf({ path, port, first, newest, onChecked, onFailure });
    return Object.assign(storage, {
      connect(): SqliteConnection {
        if (newest === undefined) throw new Error("the store was opened for one thread");
        const { port1, port2 } = new MessageChannel();
        port.send({ type: "join", port: port1 });
        return { path, port: port2, newest };
      },
    });
  }
  await worker.terminate();
  throw first.type === "openFailed"
    ? toOpenError(first.failure)
    : new StorageUnavailableError(`unexpected ${first.type}`);
}

/** The store in a thread that did not open it. Rejects with StorageUnavailableError where it has closed. */
export function joinSqliteStorage({ path, port, newest }: SqliteConnection): Promise<SqliteStorage> {
  return new Promise((resolve, reject) => {
    port.once("close", () => reject(new StorageUnavailableError("the store is closed")));
    // The next message follows at once: it has to find its listener.
    port.once("message", (first: FromWorker) => {
      if (first.type === "opened") resolve(storageOf({ path, port: portOfChannel(port), first, newest }));
      else reject(new StorageUnavailableError(`unexpected ${first.type}`));
    });
  });
}

function storageOf(deps: {
  readonly path: string;
  readonly port: StorePort;
  readonly first: FromWorker & { readonly type: "opened" };
  readonly newest: SharedArrayBuffer | undefined;
  readonly onChecked?: SqliteStorageOptions["onChecked"] | undefined;
  readonly onFailure?: SqliteStorageOptions["onFailure"] | undefined;
}): StorageInSqlite {
  const { path, port, first, newest, onChecked, onFailure } = deps;
  const damageOf = (fault: string): StoreCorruptError | undefined =>
    fault === "" ? undefined : new StoreCorruptError(damageText(path, fault));
  let damage = damageOf(first.fault);
  const client = new StoreClient({
    port,
    revision: first.revision,
    newest: newest && newestReader(newest),
    onChecked(fault) {
      damage = damageOf(fault);
      onChecked?.(damage?.message);
    },
    onFailure,
  });
  return new StorageInSqlite(client, () => damage);
}

/** Examines a database file without changing it. Reads it completely: about a second per gigabyte. */
export async function examineSqlite(path: string): Promise<SqliteExamination> {
  const worker = startWorker({ path, examines: true });
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  const message = await firstMessage(worker);
  await ended;
  if (message.type === "examined") return message.examination;
  throw new StorageUnavailableError(`unexpected ${message.type}`);
}

const damageText = (path: string, fault: string): string =>
  `${path} is damaged (${fault}): stop the server, keep a copy of the file, and restore a backup beside it`;

// The built JavaScript, even if this file runs from source, because Node cannot start a thread from TypeScript. The
// thread therefore gets no loaders or conditions of this process, nor its environment, which it does not need.
function startWorker(workerData: WorkerOptions): Worker {
  const file = new URL("../../dist/sqlite/sqlite-worker.js", import.meta.url);
  return new Worker(file, { workerData, name: "sqlite", env: {}, execArgv: ["--disable-warning=ExperimentalWarning"] });
}

function firstMessage(worker: Worker): Promise<FromWorker> {
  return new Promise((resolve, reject) => {
    worker.once("message", (message: FromWorker) => {
      worker.off("error", fail);
      resolve(message);
    });
    const fail = (error: unknown) => {
      reject(new StorageUnavailableError("the database thread did not start", { cause: error }));
    };
    worker.once("error", fail);
  });
}

class StorageInSqlite implements SqliteStorage {
  readonly #client: StoreClient;
  readonly health: SqliteStorage["health"];
  readonly known: NonNullable<Storage["known"]>;
  #oldestRevision: Revision = 0;

  constructor(client: StoreClient, damage: () => Error | undefined) {
    this.#client = client;
    this.known = client.known;
    this.health = {
      name: "store-integrity",
      async check() {
        const found = damage();
        if (found !== undefined) throw found;
      },
    };
  }

  async get(key: string, options?: { readonly signal?: AbortSignal }): Promise<StoredEntry | undefined> {
    return this.#client.get(key, options?.signal);
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    return this.#client.list(prefix, options);
  }

  create(key: string, value: Uint8Array, content?: unknown): Promise<Revision> {
    return this.#write(key, value, undefined, content);
  }

  update(key: string, value: Uint8Array, expected: Revision, content?: unknown): Promise<Revision> {
    return this.#write(key, value, expected, content);
  }

  delete(key: string, expected: Revision): Promise<Revision> {
    return this.#client.write({ key, expected, value: undefined });
  }

  #write(key: string, value: Uint8Array, expected: Revision | undefined, content?: unknown): Promise<Revision> {
    const fault = sizeFaultOf(value);
    return fault === undefined ? this.#client.write({ key, value, expected }, content) : Promise.reject(fault);
  }

  async checkRoom(_key: string, value: Uint8Array): Promise<void> {
    const fault = sizeFaultOf(value);
    if (fault !== undefined) throw fault;
  }

  watch(prefix: string, fromRevision: Revision, observer: WatchObserver): Disposable {
    return this.#client.watch(prefix, fromRevision, observer);
  }

  async currentRevision(): Promise<Revision> {
    return this.#client.currentRevision();
  }

  async compact(revision: Revision): Promise<void> {
    await this.#client.compact(revision);
    this.#oldestRevision = Math.max(this.#oldestRevision, revision);
  }

  async backupTo(path: string): Promise<Revision> {
    return writeWhole(path, (partial) => this.#client.backup(partial));
  }

  get oldestRevision(): Revision {
    return this.#oldestRevision;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#client.close();
  }
}

const sizeFaultOf = ({ byteLength }: Uint8Array): Error | undefined =>
  byteLength <= MAX_VALUE_BYTES
    ? undefined
    : new ValueTooLargeError(`the value has ${byteLength} bytes, more than ${MAX_VALUE_BYTES}`);

// The SQLite store as the main thread sees it: the storage port in front of the thread that owns the database.

import { access, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { Worker } from "node:worker_threads";
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
import { StoreCorruptError, toOpenError } from "./sqlite-errors.ts";
import { StoreClient } from "./store-client.ts";
import type { FromWorker, WorkerOptions } from "./worker-protocol.ts";

export type SqliteStorageOptions = {
  /** The database file. It and its folder are made, readable by this user alone, where they do not exist. */
  readonly path: string;
  /** Beyond this size of the file writes are refused with StorageFullError; absent means as much as the disk holds. */
  readonly maxBytes?: number;
  /** A file of up to this many bytes is checked before it is opened, a larger one while it serves; default 64 MiB. */
  readonly maxQuickCheckBytes?: number;
  /** Told once when a larger file has been checked; `fault` is undefined where nothing was found. */
  readonly onChecked?: (fault: string | undefined) => void;
};

export type SqliteStorage = Storage & {
  /**
   * Writes the newest state to a new file while the store serves, and resolves with its revision. The file is a store by itself,
   * without the history before, and is at `path` only once it is whole and on disk. Rejects with what the file system says (EEXIST
   * where `path` exists), StorageFullError, or RevisionCompactedError when a compaction overtook it.
   */
  backupTo(path: string): Promise<Revision>;
  /** For `/readyz`: rejects with StoreCorruptError once damage has been found. */
  readonly health: { readonly name: "store-integrity"; check(): Promise<void> };
};

/** More than any object that a request can bring, with what is added to it. */
const MAX_VALUE_BYTES = 8 << 20;

/** Rejects with StoreLockedError, StoreCorruptError, StoreVersionError or StorageUnavailableError. */
export async function openSqliteStorage(options: SqliteStorageOptions): Promise<SqliteStorage> {
  const { path, maxBytes, maxQuickCheckBytes, onChecked } = options;
  const worker = startWorker({
    path,
    ...(maxBytes !== undefined && { maxBytes }),
    ...(maxQuickCheckBytes !== undefined && { maxQuickCheckBytes }),
  });
  const first = await firstMessage(worker);
  if (first.type === "opened") {
    let damage: StoreCorruptError | undefined;
    const client = new StoreClient(worker, first.revision, (fault) => {
      if (fault !== "") damage = new StoreCorruptError(damageText(path, fault));
      onChecked?.(damage?.message);
    });
    return new StorageInSqlite(client, () => damage);
  }
  await worker.terminate();
  throw first.type === "openFailed"
    ? toOpenError(first.failure)
    : new StorageUnavailableError(`unexpected ${first.type}`);
}

/** Looks at a database file without changing it. Reads it from end to end: about a second for each gigabyte. */
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

// The built JavaScript, also where this file itself is run from its source: Node cannot start a thread from TypeScript. So the
// thread gets no loaders and conditions of this process either, nor its environment, which it does not need.
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
      reject(new StorageUnavailableError("the thread of the database did not start", { cause: error }));
    };
    worker.once("error", fail);
  });
}

class StorageInSqlite implements SqliteStorage {
  readonly #client: StoreClient;
  readonly health: SqliteStorage["health"];
  readonly knownRevision: () => Revision;
  #oldestRevision: Revision = 0;

  constructor(client: StoreClient, damage: () => Error | undefined) {
    this.#client = client;
    this.knownRevision = client.currentRevision;
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

  async create(key: string, value: Uint8Array): Promise<Revision> {
    assertSize(value);
    return this.#client.write({ key, value, expected: undefined });
  }

  async update(key: string, value: Uint8Array, expected: Revision): Promise<Revision> {
    assertSize(value);
    return this.#client.write({ key, value, expected });
  }

  async delete(key: string, expected: Revision): Promise<Revision> {
    return this.#client.write({ key, expected, value: undefined });
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

function assertSize({ byteLength }: Uint8Array): void {
  if (byteLength <= MAX_VALUE_BYTES) return;
  throw new ValueTooLargeError(`the value has ${byteLength} bytes, more than ${MAX_VALUE_BYTES}`);
}

// Makes a file appear under its name only when it is whole and on disk.

/**
 * `write` fills a new empty file, readable by this user alone, which then takes the name `path`. Rejects with EEXIST where `path`
 * exists, else with what the file system or `write` says; then nothing is left behind.
 */
async function writeWhole<Result>(path: string, write: (partial: string) => Promise<Result>): Promise<Result> {
  if (await exists(path)) throw Object.assign(new Error(`${path} exists already`), { code: "EEXIST" });
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  await (await open(partial, "wx", 0o600)).close();
  try {
    const result = await write(partial);
    await sync(partial);
    await rename(partial, path);
    await sync(dirname(path));
    return result;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

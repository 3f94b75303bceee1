// The new store that a backup is restored into, which is there whole or not at all.

import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Storage } from "@postern/apiserver/storage/storage";
import { StorageFullError } from "@postern/apiserver/storage/storage-errors";
import { lockFile } from "@postern/stores/sqlite/lock-file";
import { StoreLockedError } from "@postern/stores/sqlite/sqlite-errors";
import type { Configuration } from "../foundation/config/configuration.ts";
import {
  ensurePrivateDirectory,
  exists,
  remedyForWrite,
  syncDirectory,
  systemErrorCode,
} from "../foundation/pki/private-file.ts";
import { BackupError } from "../foundation/store/backup-error.ts";
import { markComplete, markIncomplete, partialPathOf } from "../foundation/store/incomplete-store.ts";
import { openStore } from "../foundation/store/open-store.ts";

/**
 * Fills the store that the configuration names; `source` tells what with. A database file gets its name once `fill` is through. In etcd
 * a mark says until then that the store is not whole: the next try with the same source goes on with it, others and servers refuse it.
 * Rejects with BackupError where there is a store already.
 */
export async function fillNewStore<T>(
  configuration: Configuration,
  source: string,
  fill: (storage: Storage) => Promise<T>,
): Promise<T> {
  const { store } = configuration;
  if (store.kind === "memory") {
    throw new BackupError(
      "a store in memory is lost at the end of this command: use a database file or etcd for --store",
    );
  }
  if (store.kind === "etcd") {
    return await fillOpened(configuration, async (storage) => {
      await markIncomplete(storage, source);
      const result = await fill(storage);
      await markComplete(storage);
      return result;
    });
  }

  const { path } = store;
  await ensurePrivateDirectory(dirname(path));
  const partial = partialPathOf(path);
  // Two at once would each clear away, or give the name to, what the other has written.
  const lock = `${partial}.lock`;
  const held = takeLock(lock, path);
  try {
    await assertFree(path);
    const files = ["", "-wal", "-shm"].map((suffix) => `${partial}${suffix}`);
    const clear = () => Promise.all(files.map((file) => rm(file, { force: true })));
    await clear();
    try {
      const result = await fillOpened({ ...configuration, store: { kind: "sqlite", path: partial } }, fill);
      // Closed, it is one file. SQLite does not say so where the disk had no room for that, and leaves the log beside it.
      if (await exists(`${partial}-wal`)) throw new BackupError(noRoom(store));
      await rename(partial, path);
      await syncDirectory(dirname(path));
      return result;
    } catch (error) {
      await clear();
      throw error;
    }
  } finally {
    held[Symbol.dispose]();
    await rm(lock, { force: true });
  }
}

/** A database left behind would be taken for the newest state of the one that is written here. */
async function assertFree(path: string): Promise<void> {
  if (await exists(path)) {
    throw new BackupError(`${path} already exists: use a new place for the store; nothing was written`);
  }
  const log = `${path}-wal`;
  if (await exists(log)) {
    throw new BackupError(
      `${log} exists without ${path}, and contains the last writes of that store: move it to the place of the store; nothing was written`,
    );
  }
}

function takeLock(lock: string, path: string): Disposable {
  try {
    return lockFile(lock);
  } catch (error) {
    if (error instanceof StoreLockedError) {
      throw new BackupError(`another restore or copy into ${path} is in progress: wait for it`, { cause: error });
    }
    const why = error instanceof Error ? error.message : String(error);
    const remedy = remedyForWrite(systemErrorCode(error) ?? "");
    throw new BackupError(`cannot write next to ${path} (${why}): ${remedy}`, { cause: error });
  }
}

async function fillOpened<T>(configuration: Configuration, fill: (storage: Storage) => Promise<T>): Promise<T> {
  const { storage } = await openStore(configuration);
  await using _ = storage;
  try {
    return await fill(storage);
  } catch (error) {
    if (!(error instanceof StorageFullError)) throw error;
    throw new BackupError(noRoom(configuration.store), { cause: error });
  }
}

const noRoom = (store: Configuration["store"]): string =>
  store.kind === "sqlite"
    ? `the disk is full: free space in ${dirname(store.path)} and run the same command again; no data was left there`
    : "etcd has not enough space: raise its --quota-backend-bytes, and run the same command again, which continues";

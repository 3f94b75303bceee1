// The new store that a backup is restored into, which is there whole or not at all.

import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { Configuration } from "../config/configuration.ts";
import { ensurePrivateDirectory, exists, syncDirectory } from "../pki/private-file.ts";
import { openStore } from "../server/open-store.ts";
import { BackupError } from "./backup-error.ts";
import { beginFilling, endFilling } from "./filling-mark.ts";

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
    throw new BackupError("a store in memory ends with this command: name a database file or etcd with --store");
  }
  if (store.kind === "etcd") {
    return await fillOpened(configuration, async (storage) => {
      await beginFilling(storage, source);
      const result = await fill(storage);
      await endFilling(storage);
      return result;
    });
  }

  const { path } = store;
  if (await exists(path)) {
    throw new BackupError(`${path} exists already: name a new place for the store, nothing was written`);
  }
  await ensurePrivateDirectory(dirname(path));
  const partial = `${path}.partial`;
  const files = ["", "-wal", "-shm"].map((suffix) => `${partial}${suffix}`);
  const clear = () => Promise.all(files.map((file) => rm(file, { force: true })));
  await clear();
  try {
    const result = await fillOpened({ ...configuration, store: { kind: "sqlite", path: partial } }, fill);
    // Closed, it is one file.
    await rename(partial, path);
    await syncDirectory(dirname(path));
    return result;
  } catch (error) {
    await clear();
    throw error;
  }
}

async function fillOpened<T>(configuration: Configuration, fill: (storage: Storage) => Promise<T>): Promise<T> {
  const { storage } = await openStore(configuration);
  await using _ = storage;
  return await fill(storage);
}

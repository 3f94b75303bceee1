// Opens the store that the configuration names, and words what can be wrong with it for the person who starts the server.

import { join } from "node:path";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage } from "@postern/apiserver/storage/storage";
import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import { StoreCorruptError, StoreLockedError, StoreVersionError } from "@postern/stores/sqlite/sqlite-errors";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import type { Configuration } from "../config/configuration.ts";
import { ConfigurationError } from "../config/configuration-error.ts";

const DATABASE_FILE = "postern.db";

/** Rejects with ConfigurationError: one line that says what is wrong and how to mend it. */
export async function openStore({ store, dataDir }: Configuration): Promise<Storage> {
  switch (store.kind) {
    case "memory":
      return createMemoryStorage();
    case "sqlite":
      return await openSqlite(store.path === "" ? join(dataDir, DATABASE_FILE) : store.path);
    case "etcd":
      throw new ConfigurationError("--store etcd://… is not supported by this release: use sqlite or memory");
  }
}

async function openSqlite(path: string): Promise<Storage> {
  try {
    return await openSqliteStorage({ path });
  } catch (error) {
    const remedy = remedyOf(error, path);
    throw remedy === undefined ? error : new ConfigurationError(remedy, { cause: error });
  }
}

function remedyOf(error: unknown, path: string): string | undefined {
  if (error instanceof StoreLockedError) {
    return `${path} is in use by another server: stop that one, or choose another directory with --data-dir`;
  }
  if (error instanceof StoreCorruptError) return error.message;
  if (error instanceof StoreVersionError) {
    return `${path} was written by a newer release (${error.message}): run that release, or restore a backup of before; it was not changed`;
  }
  if (error instanceof StorageUnavailableError) {
    return `${path} cannot be opened (${error.message}): check that the directory exists and may be written by this user`;
  }
  return undefined;
}

// Restores a backup into an empty store. The whole file is verified before anything is written, and keys and certificates that are no longer valid
// are not restored.

import { rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { Storage } from "@postern/apiserver/storage/storage";
import { StorageFullError } from "@postern/apiserver/storage/storage-errors";
import { lockFile } from "@postern/stores/sqlite/lock-file";
import { StoreLockedError } from "@postern/stores/sqlite/sqlite-errors";
import { readSealedAccessKey, writeSealedAccessKey } from "../features/access-keys/sealed-access-key.ts";
import { decodeCertificate } from "../features/certificates/issued-certificate.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import {
  ensurePrivateDirectory,
  exists,
  remedyForWrite,
  syncDirectory,
  systemErrorCode,
} from "../foundation/pki/private-file.ts";
import { BackupError } from "../foundation/store/backup-error.ts";
import { FIRST_START_KEY } from "../foundation/store/first-start-mark.ts";
import { markComplete, markIncomplete, partialPathOf } from "../foundation/store/incomplete-store.ts";
import { openStore } from "../foundation/store/open-store.ts";
import type { RecordPrefixes } from "../foundation/store/record-prefixes.ts";
import type { BackupHeader } from "./backup-header.ts";
import type { BackupKey } from "./backup-key.ts";
import { fillStore } from "./copy-store.ts";
import type { BackupEntry } from "./entry-frames.ts";
import { readBackup } from "./read-backup.ts";
import { type CountEntries, canBeFilled } from "./read-store.ts";
import { type KnownKey, rightsDigest, type ValidKeys } from "./valid-keys.ts";

export type RestoreBackupOptions = {
  readonly path: string;
  readonly header: BackupHeader;
  readonly key: BackupKey;
  readonly policy: KeyPolicy;
  /** Empty. */
  readonly storage: Storage;
  readonly onEntries?: CountEntries;
};

export type RestoreReport = {
  readonly entries: number;
  /** How many access keys had which fate. */
  readonly keys: { readonly [outcome in KeyOutcome]: number };
};

/** Throws BackupError where the list of keys cannot tell what was revoked after the backup. */
export function assertListIsNewer({ takenAt }: Pick<BackupHeader, "takenAt">, policy: KeyPolicy): void {
  if (policy.type !== "in-force" || policy.list.takenAt >= takenAt) return;
  const [list, backup] = [policy.list.takenAt, takenAt].map((at) => new Date(at).toISOString());
  throw new BackupError(
    `the list of keys is from ${list} and the backup from ${backup}: use a list that is newer than the backup, or --keep-keys if nothing was revoked since`,
  );
}

export async function restoreBackup(options: RestoreBackupOptions): Promise<RestoreReport> {
  const { path, header, key, policy, storage } = options;
  if (!(await canBeFilled(storage))) {
    throw new BackupError("the store is not empty: restore into a new one; nothing was written");
  }
  const restore = createEntryRestorer(policy, header.prefixes);
  const keys = { kept: 0, disabled: 0, "left out": 0 };
  let written = 0;
  for await (const { entries } of readBackup(path, key)) {
    const wanted: BackupEntry[] = [];
    for (const entry of entries) {
      const restored = restore(entry);
      if (restored.key !== undefined) keys[restored.key]++;
      if (restored.entry !== undefined) wanted.push(restored.entry);
    }
    await fillStore(storage, wanted);
    options.onEntries?.(entries.length);
    written += wanted.length;
  }
  return { entries: written, keys };
}

// The new store that a backup is restored into, which is there whole or not at all.

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

/** What a database left behind would be taken for the newest state of the one that is written here. */
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

// What becomes of an entry of a backup: a key or a certificate that is not accepted any more does not come back.

/** Which keys of the backup stay valid. */
export type KeyPolicy =
  /** As they were then: the backup is known to be newer than every revocation. */
  | { readonly type: "keep" }
  /** None, and the next start makes a new one for the administrator. */
  | { readonly type: "disable" }
  /** Those of the list. */
  | { readonly type: "in-force"; readonly list: ValidKeys };

type KeyOutcome = "kept" | "disabled" | "left out";

type RestoredEntry = {
  /** Undefined where it is left out. */
  readonly entry: BackupEntry | undefined;
  /** For the record of an access key, what was decided. */
  readonly key?: KeyOutcome;
};

type RestoreEntry = (entry: BackupEntry) => RestoredEntry;

export function createEntryRestorer(policy: KeyPolicy, { accessKeys, certificates }: RecordPrefixes): RestoreEntry {
  const list = policy.type === "in-force" ? policy.list : { keys: [], certificates: [] };
  const known = new Map(list.keys.map((key) => [key.uid, key]));
  const serials = new Set(list.certificates);

  const ofKey = (entry: BackupEntry): RestoredEntry => {
    if (policy.type === "keep") return { entry, key: "kept" };
    const object = decode(entry);
    const { metadata, ...rest } = object.decode();
    const spec = isJsonObject(rest["spec"]) ? rest["spec"] : {};
    const sealed = readSealedAccessKey(object.decodeSealed());
    const newer = known.get(metadata.uid ?? "");
    if (policy.type === "in-force" && (newer === undefined || newer.value !== sealed.key?.id)) {
      return { entry: undefined, key: "left out" };
    }
    const isKept = newer !== undefined && isAsItWas(newer, spec);
    const retired = sealed.retired.filter(({ id }) => newer?.retired.includes(id) === true);
    const value = encodeStoredValue(
      { ...object.decode(), spec: isKept ? spec : { ...spec, disabled: true } },
      writeSealedAccessKey({ ...sealed, retired }),
    );
    return { entry: { key: entry.key, value }, key: isKept ? "kept" : "disabled" };
  };

  const ofCertificate = (entry: BackupEntry): RestoredEntry => {
    const isKept = policy.type === "keep" || serials.has(decodeCertificate(decode(entry)).serial);
    return { entry: isKept ? entry : undefined };
  };

  return (entry) => {
    if (entry.key.startsWith(accessKeys)) return ofKey(entry);
    if (entry.key.startsWith(certificates)) return ofCertificate(entry);
    // Without it the next start is a first one, which is where an administrator gets a key.
    if (entry.key === FIRST_START_KEY && policy.type === "disable") return { entry: undefined };
    return { entry };
  };
}

/** A key that was narrowed since must not come back as wide as it was. */
const isAsItWas = ({ inForce, rights }: KnownKey, spec: JsonObject): boolean =>
  inForce && rights === rightsDigest(spec);

const decode = ({ key, value }: BackupEntry): CachedObject => CachedObject.fromEntry({ key, value, revision: 0 });

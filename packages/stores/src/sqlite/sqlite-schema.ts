// Opens the database file: locks it, checks it, and migrates its schema.

import { statSync } from "node:fs";
import { StoreVersionError } from "../store-errors.ts";
import { createPrivateDatabase } from "./create-private-database.ts";
import { APPLICATION_ID, knownVersion, migrate, pragma } from "./migrations.ts";
import { openDatabase, type SqliteDatabase } from "./sqlite-driver.ts";
import { failureKind, StoreCorruptError, StoreLockedError } from "./sqlite-errors.ts";

/** A larger file is not checked before the start, unless damage was found in it: it is checked while it serves. */
const QUICK_CHECK_MAX_BYTES = 64 << 20;
/** A successful check is valid for this long. */
const CHECK_INTERVAL_MS = 24 * 3600_000;

export type OpenedDatabase = {
  readonly database: SqliteDatabase;
  /** Whether it still has to be checked while it serves. */
  readonly isUnchecked: boolean;
};

/** Throws StoreLockedError, StoreCorruptError, StoreVersionError, or the error of the file system. */
export function openStoreDatabase(path: string, maxQuickCheckBytes = QUICK_CHECK_MAX_BYTES): OpenedDatabase {
  assertNotLeftBehind(path);
  createPrivateDatabase(path);
  const database = openDatabase(path);
  try {
    // Exclusive from the first read on, with an operating-system lock that ends with the process in every case. This also
    // keeps the index of the write-ahead log in memory, so that no shared-memory file is needed.
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    assertOurs(path, database);
    const isChecked = checkBeforeStart(path, database, maxQuickCheckBytes);
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = FULL");
    database.exec("BEGIN IMMEDIATE; COMMIT");
    configure(database);
    migrate(path, database);
    return { database, isUnchecked: !isChecked };
  } catch (error) {
    database.close();
    throw describe(path, error);
  }
}

/** The schema of a store in a new file that is not read until it is complete: a crash may leave it incomplete. */
export function createStoreDatabase(path: string): SqliteDatabase {
  const database = openDatabase(path);
  try {
    database.exec("PRAGMA journal_mode = MEMORY");
    database.exec("PRAGMA synchronous = OFF");
    migrate(path, database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * SQLite applies such a file to any database that is placed beside it, or deletes it if the database is
 * new (https://www.sqlite.org/howtocorrupt.html section 1.4): a restored store would contain the old state, or a mixture of both.
 */
function assertNotLeftBehind(path: string): void {
  if (sizeOf(path) > 0) return;
  const left = `${path}-wal`;
  if (sizeOf(left) === 0) return;
  throw new StoreCorruptError(
    `${left} exists without ${path}, and has its last writes: restore the file that it belongs to, or move both away. Nothing was changed`,
  );
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Only reads. */
function assertOurs(path: string, database: SqliteDatabase): void {
  const applicationId = pragma(database, "application_id");
  const schemaVersion = pragma(database, "schema_version");
  if (applicationId !== APPLICATION_ID && schemaVersion !== 0) {
    throw unusable(path, "it is the database of another application");
  }
}

/** Only reads. Returns whether the file is known to be intact. */
function checkBeforeStart(path: string, database: SqliteDatabase, maxBytes: number): boolean {
  const bytes = pragma(database, "page_count") * pragma(database, "page_size");
  const last = knownVersion(path, database) > 1 ? lastCheck(database) : { checkedAt: 0, fault: "" };
  if (bytes > maxBytes && last.fault === "") return Date.now() - last.checkedAt < CHECK_INTERVAL_MS;
  const result = database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
  if (result !== "ok") throw unusable(path, `it is damaged (${String(result)})`);
  return true;
}

function lastCheck(database: SqliteDatabase): { readonly checkedAt: number; readonly fault: string } {
  const { checked_at, fault } = database.prepare("SELECT checked_at, fault FROM integrity").get() ?? {};
  return { checkedAt: Number(checked_at ?? 0), fault: String(fault ?? "") };
}

function configure(database: SqliteDatabase): void {
  // Pages that are read for a start are not needed again, and writes took no longer with less than this.
  database.exec("PRAGMA cache_size = -8192");
  database.exec("PRAGMA temp_store = MEMORY");
  // The worker checkpoints between commits, in small steps; this is for the case that it cannot keep up.
  database.exec("PRAGMA wal_autocheckpoint = 8000");
}

function describe(path: string, error: unknown): unknown {
  if (error instanceof StoreCorruptError || error instanceof StoreVersionError) return error;
  switch (failureKind(error)) {
    case "locked":
      return new StoreLockedError(`${path} is in use by another process: only one server can have it open`, {
        cause: error,
      });
    case "corrupt":
      return unusable(path, error instanceof Error ? error.message : String(error), error);
    default:
      return error;
  }
}

function unusable(path: string, detail: string, cause?: unknown): StoreCorruptError {
  return new StoreCorruptError(
    `${path} cannot be used: ${detail}. Nothing was changed; restore it from a backup or move it away`,
    { cause },
  );
}

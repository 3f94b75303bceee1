// Opens the database file: takes the lock, checks what is in it, and brings its schema up to date.

import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { openDatabase, type SqliteDatabase } from "./sqlite-driver.ts";
import { failureKind, StoreCorruptError, StoreLockedError, StoreVersionError } from "./sqlite-errors.ts";

/** "PSTN": tells our files from those of other programs. */
const APPLICATION_ID = 0x5053544e;

/** A larger file is not read through at every start; it is checked when its rows are read. */
const QUICK_CHECK_MAX_BYTES = 64 << 20;

/**
 * One migration for each schema version, from the oldest on. Released ones never change.
 *
 * `revision` is the rowid, so that rows lie in the order they were written and appending stays cheap. The successor of a row is the
 * one row with the same key and its revision as `previous`: the unique index makes two successors impossible (compare-and-swap), and
 * finds the newest row of a key, which is the one without a successor.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE revisions (
     revision INTEGER PRIMARY KEY,
     key TEXT NOT NULL,
     previous INTEGER NOT NULL,
     deleted INTEGER NOT NULL,
     value BLOB
   ) STRICT;
   CREATE UNIQUE INDEX revisions_by_key ON revisions (key, previous);
   CREATE TABLE compaction (
     id INTEGER PRIMARY KEY CHECK (id = 1),
     compacted INTEGER NOT NULL,
     swept INTEGER NOT NULL
   ) STRICT;
   INSERT INTO compaction VALUES (1, 1, 1);`,
];

/** Throws StoreLockedError, StoreCorruptError, StoreVersionError, or what the file system says. */
export function openStoreDatabase(path: string): SqliteDatabase {
  createPrivately(path);
  const database = openDatabase(path);
  try {
    // Exclusive from the first read on, by a lock of the operating system that ends with the process however it ends. It also
    // keeps the index of the write-ahead log in memory, so that no shared-memory file is needed.
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    assertOurs(path, database);
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = FULL");
    database.exec("BEGIN IMMEDIATE; COMMIT");
    configure(database);
    migrate(path, database);
    return database;
  } catch (error) {
    database.close();
    throw describe(path, error);
  }
}

/** The schema of a store in a new file that nothing else reads until it is complete: a crash may leave it torn. */
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

// The store holds secrets. Only a file that does not exist may be opened here: closing a descriptor of an open database would drop
// this process's locks on it (https://www.sqlite.org/howtocorrupt.html section 2.2).
function createPrivately(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

/** Reads only. */
function assertOurs(path: string, database: SqliteDatabase): void {
  const applicationId = pragma(database, "application_id");
  const schemaVersion = pragma(database, "schema_version");
  if (applicationId !== APPLICATION_ID && schemaVersion !== 0) {
    throw unusable(path, "it is the database of another program");
  }
  const bytes = pragma(database, "page_count") * pragma(database, "page_size");
  if (bytes > QUICK_CHECK_MAX_BYTES) return;
  const result = database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
  if (result !== "ok") throw unusable(path, `it is damaged (${String(result)})`);
}

function configure(database: SqliteDatabase): void {
  database.exec("PRAGMA cache_size = -32768");
  database.exec("PRAGMA temp_store = MEMORY");
  // The worker checkpoints between commits, in small steps; this is for when it cannot keep up.
  database.exec("PRAGMA wal_autocheckpoint = 8000");
}

function migrate(path: string, database: SqliteDatabase): void {
  const found = pragma(database, "user_version");
  if (found > MIGRATIONS.length) {
    throw new StoreVersionError(
      `${path} has schema version ${found}, this release knows up to ${MIGRATIONS.length}: start the release that wrote it, or newer`,
    );
  }
  for (const [version, migration] of MIGRATIONS.entries()) {
    if (version < found) continue;
    database.exec(
      `BEGIN IMMEDIATE; ${migration}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version + 1}; COMMIT`,
    );
  }
}

function pragma(database: SqliteDatabase, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
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

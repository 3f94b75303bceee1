// The schema of the database and its migrations from earlier releases. Each step is applied completely or not at all.

import { StoreVersionError } from "../store-errors.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";
import { StoreCorruptError } from "./sqlite-errors.ts";

/** "PSTN": identifies our files. */
export const APPLICATION_ID = 0x5053544e;

/**
 * One migration for each schema version, oldest first. Released ones never change.
 *
 * `revision` is the rowid, so that rows are stored in the order of writing and appending stays cheap. The successor of a row is the
 * row with the same key and its revision as `previous`: the unique index prevents two successors (compare-and-swap), and
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
  // From here on, values may be encrypted, which earlier releases cannot read. Large files are checked in the background:
  // stores the time of the last check, in milliseconds since the epoch, and its result ("" for intact).
  `CREATE TABLE integrity (
     id INTEGER PRIMARY KEY CHECK (id = 1),
     checked_at INTEGER NOT NULL,
     fault TEXT NOT NULL
   ) STRICT;
   INSERT INTO integrity VALUES (1, 0, '');`,
];

/** The schema version that this release writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Throws StoreVersionError for a newer release's database, StoreCorruptError if a step lost data; then nothing is changed. */
export function migrate(path: string, database: SqliteDatabase): void {
  const found = knownVersion(path, database);
  for (const [version, migration] of MIGRATIONS.entries()) {
    if (version >= found) step(path, database, migration, version);
  }
}

/** The schema version of a database; 0: none. Throws StoreVersionError if a newer release wrote it. */
export function knownVersion(path: string, database: SqliteDatabase): number {
  const found = pragma(database, "user_version");
  if (found <= MIGRATIONS.length) return found;
  throw new StoreVersionError(
    `${path} has schema version ${found}, this release knows up to ${MIGRATIONS.length}: start the release that wrote it, or newer`,
  );
}

export function pragma(database: SqliteDatabase, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function step(path: string, database: SqliteDatabase, migration: string, version: number): void {
  const before = version === 0 ? EMPTY : contentOf(database);
  database.exec("BEGIN IMMEDIATE");
  try {
    database.exec(migration);
    if (contentOf(database) !== before) {
      throw new StoreCorruptError(`${path} lost data in the migration to schema version ${version + 1}`);
    }
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec(`PRAGMA user_version = ${version + 1}`);
    database.exec("COMMIT");
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

/** After some errors, SQLite has already rolled back, and fails the explicit rollback. */
export function rollBack(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {}
}

const EMPTY = "0 rows up to 0";

/** Looks up each row in an index, without reading the row. */
function contentOf(database: SqliteDatabase): string {
  const { count, newest } =
    database.prepare("SELECT count(*) AS count, max(revision) AS newest FROM revisions").get() ?? {};
  return `${Number(count)} rows up to ${Number(newest ?? 0)}`;
}

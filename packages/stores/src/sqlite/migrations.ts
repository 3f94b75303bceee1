// The schema of the database, and how a database of an earlier release gets it: one step at a time, each of them whole or not at all.

import { StoreVersionError } from "../store-errors.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";
import { StoreCorruptError } from "./sqlite-errors.ts";

/** "PSTN": identifies our files. */
export const APPLICATION_ID = 0x5053544e;

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
  // Values may be sealed from here on, which earlier releases could not read. And large files are checked beside the work: when that
  // was done last, in milliseconds since the epoch, and what was found ("" for nothing).
  `CREATE TABLE integrity (
     id INTEGER PRIMARY KEY CHECK (id = 1),
     checked_at INTEGER NOT NULL,
     fault TEXT NOT NULL
   ) STRICT;
   INSERT INTO integrity VALUES (1, 0, '');`,
];

/** The schema version that this release writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Throws StoreVersionError for a database of a newer release, StoreCorruptError where a step lost something; then nothing is changed. */
export function migrate(path: string, database: SqliteDatabase): void {
  const found = knownVersion(path, database);
  for (const [version, migration] of MIGRATIONS.entries()) {
    if (version >= found) step(path, database, migration, version);
  }
}

/** The schema version that a database has; 0: none. Throws StoreVersionError where a newer release wrote it. */
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

/** After some errors SQLite has already rolled back, and reports that with an error of its own. */
export function rollBack(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {}
}

const EMPTY = "0 rows up to 0";

/** Costs a look at each row's place in an index, not at the row. */
function contentOf(database: SqliteDatabase): string {
  const { count, newest } =
    database.prepare("SELECT count(*) AS count, max(revision) AS newest FROM revisions").get() ?? {};
  return `${Number(count)} rows up to ${Number(newest ?? 0)}`;
}

// The table of revisions: compare-and-swap appends, reads at a revision, history, and compaction.

import { compareKeys, prefixEnd } from "@postern/apiserver/storage/key-order";
import type { Revision } from "@postern/apiserver/storage/storage";
import { rollBack } from "./migrations.ts";
import type { SqliteDatabase, SqliteRow, SqliteStatement } from "./sqlite-driver.ts";

export type Row = { readonly key: string; readonly revision: Revision; readonly value: Uint8Array };

export type HistoryRow = {
  readonly key: string;
  readonly revision: Revision;
  /** Undefined: the key was deleted. */
  readonly value: Uint8Array | undefined;
  readonly previous: Row | undefined;
};

export type Write = {
  readonly key: string;
  /** Undefined: the key must be absent. */
  readonly expected: Revision | undefined;
  /** Undefined: delete it. */
  readonly value: Uint8Array | undefined;
};

/** `before`: the entry that was replaced, or that caused the refusal. */
export type WriteResult =
  | { readonly type: "written"; readonly revision: Revision; readonly before: Row | undefined }
  | { readonly type: "refused"; readonly before: Row | undefined }
  /** The write was valid, but exceeds the quota. */
  | { readonly type: "full" };

export type Range = {
  readonly prefix: string;
  readonly startAfter: string | undefined;
  readonly revision: Revision;
};

export type PageLimits = {
  readonly rows: number;
  /** The value that exceeds it is the last one of the page. */
  readonly bytes: number;
};

/** Rows as columns, ordered by key. */
export type Page = {
  readonly keys: readonly string[];
  readonly revisions: readonly Revision[];
  readonly lengths: readonly number[];
  /** The concatenated values. */
  readonly bytes: Uint8Array;
  /** Whether more rows follow. */
  readonly more: boolean;
};

const HIGHEST_KEY = "\u{10ffff}";

/** A row is the state of its key at ?3 if it was written by then and its successor was not. */
const ALIVE = `r.key < ?2 AND r.revision <= ?3 AND r.deleted = 0 AND NOT EXISTS (
  SELECT 1 FROM revisions AS next WHERE next.key = r.key AND next.previous = r.revision AND next.revision <= ?3)`;

export class RevisionTable {
  readonly #database: SqliteDatabase;
  readonly #maxBytes: number;
  readonly #usage: SqliteStatement;
  readonly #newest: SqliteStatement;
  readonly #insert: SqliteStatement;
  readonly #headsFrom: SqliteStatement;
  readonly #headsAfter: SqliteStatement;
  readonly #values: SqliteStatement;
  readonly #countAfter: SqliteStatement;
  readonly #history: SqliteStatement;
  readonly #sweepable: SqliteStatement;
  readonly #remove: SqliteStatement;
  readonly #setCompacted: SqliteStatement;
  readonly #setSwept: SqliteStatement;
  readonly #bounds: SqliteStatement;
  #revision: Revision = 0;
  #compacted: Revision = 0;
  #swept: Revision = 0;

  /** Beyond `maxBytes`, only deletions are accepted. */
  constructor(database: SqliteDatabase, maxBytes = Number.POSITIVE_INFINITY) {
    this.#database = database;
    this.#maxBytes = maxBytes;
    this.#usage = database.prepare(
      `SELECT (page_count - freelist_count) * page_size AS bytes
       FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    );
    this.#newest = database.prepare(
      "SELECT key, revision, deleted, value FROM revisions WHERE key = ? ORDER BY previous DESC LIMIT 1",
    );
    this.#insert = database.prepare(
      "INSERT INTO revisions (revision, key, previous, deleted, value) VALUES (?, ?, ?, ?, ?)",
    );
    // A page is two rows of the driver, one with the columns and one with all values: one row per entry costs more than SQLite's
    // own work. The lengths are read first, without reading the values, which may be large.
    const heads = (from: string) =>
      `SELECT json_group_array(key) AS keys, json_group_array(revision) AS revisions, json_group_array(bytes) AS lengths
       FROM (SELECT r.key, r.revision, length(r.value) AS bytes FROM revisions AS r
             WHERE ${from} AND ${ALIVE} ORDER BY r.key LIMIT ?4)`;
    this.#headsFrom = database.prepare(heads("r.key >= ?1"));
    this.#headsAfter = database.prepare(heads("r.key > ?1"));
    // CROSS JOIN keeps the order of the list. The bytes are concatenated unchanged: only their type is text.
    this.#values = database.prepare(
      `SELECT CAST(group_concat(r.value, '') AS BLOB) AS bytes
       FROM json_each(?) AS wanted CROSS JOIN revisions AS r ON r.revision = wanted.value`,
    );
    this.#countAfter = database.prepare(
      `SELECT count(*) AS count, max(key) AS last
       FROM (SELECT r.key FROM revisions AS r WHERE r.key > ?1 AND ${ALIVE} ORDER BY r.key LIMIT ?4)`,
    );
    // Unary plus: the rows are needed in the order of revisions, for which the index on keys is useless.
    this.#history = database.prepare(
      `SELECT r.key, r.revision, r.deleted, r.value,
              p.revision AS previous_revision, p.deleted AS previous_deleted, p.value AS previous_value
       FROM revisions AS r LEFT JOIN revisions AS p ON p.revision = r.previous
       WHERE r.revision > ? AND r.revision <= ? AND +r.key >= ? AND +r.key < ? ORDER BY r.revision`,
    );
    this.#sweepable = database.prepare(
      "SELECT revision, previous, deleted FROM revisions WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?",
    );
    this.#remove = database.prepare("DELETE FROM revisions WHERE revision = ?");
    this.#setCompacted = database.prepare("UPDATE compaction SET compacted = ?");
    this.#setSwept = database.prepare("UPDATE compaction SET swept = ?");
    this.#bounds = database.prepare(
      "SELECT compacted, swept, (SELECT max(revision) FROM revisions) AS newest FROM compaction",
    );
    this.reload();
  }

  /** Reads the state of the whole table again, after a failure that leaves open what was stored. */
  reload(): void {
    const bounds = this.#bounds.get();
    this.#compacted = Number(bounds?.["compacted"]);
    this.#swept = Number(bounds?.["swept"]);
    // The newest revision may have been a deletion that was swept.
    this.#revision = Math.max(Number(bounds?.["newest"] ?? 0), this.#compacted);
  }

  /** The newest one. */
  get revision(): Revision {
    return this.#revision;
  }

  /** The oldest one that can be read. */
  get compacted(): Revision {
    return this.#compacted;
  }

  /** Writes everything in one transaction. It is on disk when this returns; if it throws, nothing was written. */
  append(writes: readonly Write[]): WriteResult[] {
    const before = this.#revision;
    try {
      const full =
        this.#maxBytes !== Number.POSITIVE_INFINITY && Number(this.#usage.get()?.["bytes"]) >= this.#maxBytes;
      return this.#transaction(() => writes.map((write) => this.#appendOne(write, full)));
    } catch (error) {
      this.#revision = before;
      throw error;
    }
  }

  get(key: string): Row | undefined {
    const row = this.#newest.get(key);
    return row === undefined || row["deleted"] === 1 ? undefined : toRow(row);
  }

  /** One page of the state at a revision. */
  page({ prefix, startAfter, revision }: Range, limits: PageLimits): Page {
    const end = prefixEnd(prefix) ?? HIGHEST_KEY;
    const isAfter = startAfter !== undefined && compareKeys(startAfter, prefix) >= 0;
    const statement = isAfter ? this.#headsAfter : this.#headsFrom;
    const heads = statement.get(isAfter ? startAfter : prefix, end, revision, limits.rows + 1);
    const lengths = numbers(heads?.["lengths"]);
    const count = fitting(lengths, limits);
    const revisions = numbers(heads?.["revisions"]).slice(0, count);
    return {
      keys: jsonArray(heads?.["keys"]).slice(0, count).map(String),
      revisions,
      lengths: lengths.slice(0, count),
      bytes: toBytes(this.#values.get(JSON.stringify(revisions))?.["bytes"]),
      more: lengths.length > count,
    };
  }

  /** Counts at most `limit` keys; `last` is the key to continue after, undefined at the end. */
  countAfter({ prefix, revision }: Range, after: string, limit: number): { count: number; last: string | undefined } {
    const row = this.#countAfter.get(after, prefixEnd(prefix) ?? HIGHEST_KEY, revision, limit);
    const count = Number(row?.["count"]);
    const last = row?.["last"];
    return { count, last: count === limit && typeof last === "string" ? last : undefined };
  }

  /** The events below `prefix` after one revision and up to another, in order, until `take` returns false. */
  history(prefix: string, after: Revision, upTo: Revision, take: (row: HistoryRow) => boolean): void {
    const rows = this.#history.iterate(after, upTo, prefix, prefixEnd(prefix) ?? HIGHEST_KEY);
    for (const row of rows) if (!take(toHistoryRow(row))) return;
  }

  /** From now on, nothing older than `revision` can be read; `sweep` deletes the rows. */
  compact(revision: Revision): void {
    if (revision <= this.#compacted) return;
    this.#transaction(() => this.#setCompacted.run(revision));
    this.#compacted = revision;
  }

  get swept(): boolean {
    return this.#swept >= this.#compacted;
  }

  /**
   * Deletes rows that can no longer be read, looking at `limit` rows: each row up to the compaction deletes the row it replaced,
   * and itself if it is a deletion. Returns the duration in milliseconds, without the sync to disk.
   *
   * The result need not be durable, but the sync is waited for: a commit that is not yet synced is lost if a later sync fails, together
   * with everything after it in the log, while the next sync reports success (https://lwn.net/Articles/752063/).
   */
  sweep(limit: number): number {
    const startedAt = performance.now();
    const rows = [...this.#sweepable.iterate(this.#swept, this.#compacted, limit)];
    const last = rows.length < limit ? this.#compacted : Number(rows.at(-1)?.["revision"]);
    const tookMs = this.#transaction(() => {
      for (const row of rows) {
        this.#remove.run(Number(row["previous"]));
        if (row["deleted"] === 1) this.#remove.run(Number(row["revision"]));
      }
      this.#setSwept.run(last);
      return performance.now() - startedAt;
    });
    this.#swept = last;
    return tookMs;
  }

  /** Copies the write-ahead log into the database file as far as possible without waiting. */
  checkpoint(): void {
    this.#database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
  }

  close(): void {
    this.#database.close();
  }

  #appendOne({ key, expected, value }: Write, full: boolean): WriteResult {
    const newest = this.#newest.get(key);
    const before = newest === undefined || newest["deleted"] === 1 ? undefined : toRow(newest);
    if (before?.revision !== expected) return { type: "refused", before };
    if (full && value !== undefined) return { type: "full" };
    const revision = this.#revision + 1;
    this.#insert.run(revision, key, Number(newest?.["revision"] ?? 0), value === undefined ? 1 : 0, value ?? null);
    this.#revision = revision;
    return { type: "written", revision, before };
  }

  #transaction<Result>(work: () => Result): Result {
    this.#database.exec("BEGIN");
    try {
      const result = work();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      rollBack(this.#database);
      throw error;
    }
  }
}

/** The number of rows on a page: at least one, if there are rows and rows are requested. */
function fitting(lengths: readonly number[], { rows, bytes }: PageLimits): number {
  let total = 0;
  let count = 0;
  while (count < lengths.length && count < rows && total < bytes) total += lengths[count++] ?? 0;
  return count;
}

function jsonArray(text: SqliteRow[string] | undefined): readonly unknown[] {
  const values: unknown = typeof text === "string" ? JSON.parse(text) : undefined;
  return Array.isArray(values) ? values : [];
}

const numbers = (text: SqliteRow[string] | undefined): readonly number[] => jsonArray(text).map(Number);

function toRow(row: SqliteRow): Row {
  return { key: String(row["key"]), revision: Number(row["revision"]), value: toBytes(row["value"]) };
}

function toHistoryRow(row: SqliteRow): HistoryRow {
  const key = String(row["key"]);
  const previous =
    row["previous_revision"] === null || row["previous_deleted"] === 1
      ? undefined
      : { key, revision: Number(row["previous_revision"]), value: toBytes(row["previous_value"]) };
  return {
    key,
    revision: Number(row["revision"]),
    value: row["deleted"] === 1 ? undefined : toBytes(row["value"]),
    previous,
  };
}

// Some drivers return an empty blob as null.
function toBytes(value: SqliteRow[string] | undefined): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array();
}

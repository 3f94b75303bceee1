// Checks the database in small steps while it serves: every row is in the index, and every index entry has its row.

import type { SqliteDatabase, SqliteStatement } from "./sqlite-driver.ts";
import { failureKind } from "./sqlite-errors.ts";

/** Undefined while there is more to check; `fault` is "" if the database is intact. */
export type IntegrityResult = { readonly fault: string };

/** Takes under a millisecond, except for large rows. */
const ROWS_PER_STEP = 64;

export class IntegrityCheck {
  readonly #rows: SqliteStatement;
  readonly #place: SqliteStatement;
  readonly #places: SqliteStatement;
  readonly #row: SqliteStatement;
  readonly #record: SqliteStatement;
  #revision = 0;
  #readsIndex = false;
  #key = "";
  #previous = -1;

  constructor(database: SqliteDatabase) {
    // `length` of a blob alone would not read it.
    this.#rows = database.prepare(
      "SELECT revision, key, previous, value FROM revisions WHERE revision > ? ORDER BY revision LIMIT ?",
    );
    this.#place = database.prepare(
      "SELECT revision FROM revisions INDEXED BY revisions_by_key WHERE key = ? AND previous = ?",
    );
    this.#places = database.prepare(
      `SELECT key, previous, revision FROM revisions INDEXED BY revisions_by_key
       WHERE (key, previous) > (?, ?) ORDER BY key, previous LIMIT ?`,
    );
    this.#row = database.prepare("SELECT key, previous FROM revisions NOT INDEXED WHERE revision = ?");
    this.#record = database.prepare("UPDATE integrity SET checked_at = ?, fault = ?");
  }

  /** Throws the errors of the database, but not for damage. */
  step(): IntegrityResult | undefined {
    try {
      return this.#readsIndex ? this.#stepOverIndex() : this.#stepOverRows();
    } catch (error) {
      if (failureKind(error) !== "corrupt") throw error;
      return { fault: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Stores the result, so that the next starts can skip the check for a while. */
  record({ fault }: IntegrityResult, now: number): void {
    this.#record.run(now, fault);
  }

  #stepOverRows(): IntegrityResult | undefined {
    const rows = [...this.#rows.iterate(this.#revision, ROWS_PER_STEP)];
    for (const { revision, key, previous } of rows) {
      const place = this.#place.get(String(key), Number(previous));
      if (place?.["revision"] !== revision) return { fault: `revision ${revision} is missing in the index` };
      this.#revision = Number(revision);
    }
    this.#readsIndex = rows.length < ROWS_PER_STEP;
    return undefined;
  }

  #stepOverIndex(): IntegrityResult | undefined {
    const places = [...this.#places.iterate(this.#key, this.#previous, ROWS_PER_STEP)];
    for (const { key, previous, revision } of places) {
      const row = this.#row.get(Number(revision));
      if (row?.["key"] !== key || row?.["previous"] !== previous) {
        return { fault: `the index leads to revision ${revision}, which is not there` };
      }
      [this.#key, this.#previous] = [String(key), Number(previous)];
    }
    return places.length < ROWS_PER_STEP ? { fault: "" } : undefined;
  }
}

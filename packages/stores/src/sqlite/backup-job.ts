// Copies the state at one revision into another database file, in steps between which the store goes on serving.

import type { Revision } from "@postern/apiserver/storage/storage";
import { outOfRange } from "./out-of-range.ts";
import type { ReadJob, ReadStep } from "./read-jobs.ts";
import type { RevisionTable, Row } from "./revision-table.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";
import { createStoreDatabase } from "./sqlite-schema.ts";
import type { ReadRequest } from "./worker-protocol.ts";

export class BackupJob implements ReadJob {
  readonly id: number;
  readonly #path: string;
  #copy: SqliteDatabase | undefined;
  #revision: Revision | undefined;
  #startAfter: string | undefined;

  constructor({ id, path }: ReadRequest & { readonly type: "backup" }) {
    this.id = id;
    this.#path = path;
  }

  step(table: RevisionTable, byteLimit: number): ReadStep {
    this.#revision ??= table.revision;
    const revision = this.#revision;
    if (revision < table.compacted) {
      this.end();
      return outOfRange(this.id, revision, table);
    }
    this.#copy ??= createStoreDatabase(this.#path);
    const rows: Row[] = [];
    let bytes = 0;
    table.list({ prefix: "", startAfter: this.#startAfter, revision }, (row) => {
      rows.push(row);
      bytes += row.value.byteLength;
      return bytes < byteLimit;
    });
    this.#startAfter = rows.at(-1)?.key;
    insert(this.#copy, rows);
    if (rows.length > 0) return { done: false, message: { type: "backingUp", id: this.id } };
    // Nothing before it can be read in the copy: that is what compaction leaves behind.
    this.#copy.prepare("UPDATE compaction SET compacted = ?, swept = ?").run(revision, revision);
    this.end();
    return { done: true, message: { type: "backedUp", id: this.id, revision } };
  }

  end(): void {
    this.#copy?.close();
    this.#copy = undefined;
  }
}

function insert(copy: SqliteDatabase, rows: readonly Row[]): void {
  const statement = copy.prepare(
    "INSERT INTO revisions (revision, key, previous, deleted, value) VALUES (?, ?, 0, 0, ?)",
  );
  copy.exec("BEGIN");
  for (const { key, revision, value } of rows) statement.run(revision, key, value);
  copy.exec("COMMIT");
}

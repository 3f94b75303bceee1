// Copies the state at one revision into another database file, in steps, while the store serves.

import type { Revision } from "@postern/apiserver/storage/storage";
import { outOfRange, type ReadJob, type ReadStep } from "./read-step.ts";
import type { Page, RevisionTable } from "./revision-table.ts";
import type { SqliteDatabase } from "./sqlite-driver.ts";
import { createStoreDatabase } from "./sqlite-schema.ts";
import type { ReadRequest } from "./worker-protocol.ts";

const BACKUP_ROWS_PER_STEP = 512;

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
    const range = { prefix: "", startAfter: this.#startAfter, revision };
    const page = table.page(range, { rows: BACKUP_ROWS_PER_STEP, bytes: byteLimit });
    this.#startAfter = page.keys.at(-1);
    insert(this.#copy, page);
    if (page.keys.length > 0) return { done: false, message: { type: "backingUp", id: this.id } };
    // The copy has no earlier history, as after a compaction.
    this.#copy.prepare("UPDATE compaction SET compacted = ?, swept = ?").run(revision, revision);
    this.end();
    return { done: true, message: { type: "backedUp", id: this.id, revision } };
  }

  end(): void {
    this.#copy?.close();
    this.#copy = undefined;
  }
}

function insert(copy: SqliteDatabase, { keys, revisions, lengths, bytes }: Page): void {
  const statement = copy.prepare(
    "INSERT INTO revisions (revision, key, previous, deleted, value) VALUES (?, ?, 0, 0, ?)",
  );
  copy.exec("BEGIN");
  let start = 0;
  for (let index = 0; index < keys.length; index++) {
    // The columns have the same length.
    const [key = "", revision = 0, length = 0] = [keys[index], revisions[index], lengths[index]];
    statement.run(revision, key, bytes.subarray(start, start + length));
    start += length;
  }
  copy.exec("COMMIT");
}

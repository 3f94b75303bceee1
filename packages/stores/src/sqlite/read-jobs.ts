// Reads of the database in small steps, so that commits can run in between.

import type { Revision } from "@postern/apiserver/storage/storage";
import { BackupJob } from "./backup-job.ts";
import { BytePacker } from "./byte-packer.ts";
import { packEvent, packRow } from "./pack-rows.ts";
import { outOfRange, type ReadJob, type ReadStep } from "./read-step.ts";
import type { Page, RevisionTable } from "./revision-table.ts";
import type { PackedEvent, ReadRequest } from "./worker-protocol.ts";

type Request<Type> = ReadRequest & { readonly type: Type };

/** The maximum number of revisions or keys per step. */
const ROWS_PER_STEP = 4_096;

export function createReadJob(request: ReadRequest): ReadJob {
  switch (request.type) {
    case "get":
      return { id: request.id, step: (table) => get(request, table) };
    case "list":
      return new ListJob(request);
    case "events":
      return { id: request.id, step: (table, byteLimit) => events(request, table, byteLimit) };
    case "compact":
      return { id: request.id, step: (table) => compact(request, table) };
    case "backup":
      return new BackupJob(request);
  }
}

function get({ id, key }: Request<"get">, table: RevisionTable): ReadStep {
  const packer = new BytePacker();
  const row = table.get(key);
  const entry = row && packRow(row, packer);
  return { done: true, message: { type: "entry", id, ...(entry && { entry }), bytes: packer.take() } };
}

function compact({ id, revision }: Request<"compact">, table: RevisionTable): ReadStep {
  if (revision > table.revision) return outOfRange(id, revision, table);
  table.compact(revision);
  return { done: true, message: { type: "compacted", id, compacted: table.compacted } };
}

function events({ id, prefix, after }: Request<"events">, table: RevisionTable, byteLimit: number): ReadStep {
  if (after < table.compacted) return outOfRange(id, after, table);
  const packer = new BytePacker();
  const events: PackedEvent[] = [];
  let upTo = Math.min(after + ROWS_PER_STEP, table.revision);
  table.history(prefix, after, upTo, (row) => {
    events.push(packEvent(row, packer));
    if (packer.length < byteLimit) return true;
    upTo = row.revision;
    return false;
  });
  return {
    done: true,
    message: { type: "events", id, events, bytes: packer.take(), upTo, caughtUp: upTo === table.revision },
  };
}

/** The number of rows on the first page of a list; the size of its values determines that of the next pages. */
const FIRST_PAGE_ROWS = 256;
const MAX_PAGE_ROWS = 4_096;

/** The number of rows like those of `page` that fit into `byteLimit`. */
function rowsForNext({ keys, bytes }: Page, byteLimit: number): number {
  const rows = Math.ceil((keys.length / Math.max(bytes.byteLength, 1)) * byteLimit);
  return Math.min(Math.max(rows, 1), MAX_PAGE_ROWS);
}

class ListJob implements ReadJob {
  readonly id: number;
  readonly #request: Request<"list">;
  #revision: Revision | undefined;
  #startAfter: string | undefined;
  #left: number;
  #pageRows = FIRST_PAGE_ROWS;
  /** Undefined until all entries have been sent. */
  #counted: number | undefined;

  constructor(request: Request<"list">) {
    this.id = request.id;
    this.#request = request;
    this.#revision = request.revision;
    this.#startAfter = request.startAfter;
    this.#left = request.limit ?? Number.POSITIVE_INFINITY;
  }

  step(table: RevisionTable, byteLimit: number): ReadStep {
    this.#revision ??= table.revision;
    const revision = this.#revision;
    if (revision > table.revision || revision < table.compacted) return outOfRange(this.id, revision, table);
    return this.#counted === undefined
      ? this.#entries(table, revision, byteLimit)
      : this.#count(table, revision, this.#counted);
  }

  #entries(table: RevisionTable, revision: Revision, byteLimit: number): ReadStep {
    const range = { prefix: this.#request.prefix, startAfter: this.#startAfter, revision };
    const page = table.page(range, { rows: Math.min(this.#left, this.#pageRows), bytes: byteLimit });
    const { keys, revisions, lengths, more } = page;
    this.#left -= keys.length;
    this.#startAfter = keys.at(-1) ?? this.#startAfter;
    this.#pageRows = rowsForNext(page, byteLimit);
    const cutOff = more && this.#left === 0;
    const remaining = cutOff ? 1 : 0;
    // Without a last key (a limit of zero), the count starts at the prefix itself.
    if (cutOff && this.#request.countRemaining) this.#counted = 0;
    const done = this.#counted === undefined && (!more || cutOff);
    return {
      done,
      message: {
        type: "entries",
        id: this.id,
        entries: { keys, revisions, lengths },
        bytes: ownMemory(page.bytes),
        ...(done && { end: { revision, remaining } }),
      },
    };
  }

  #count(table: RevisionTable, revision: Revision, counted: number): ReadStep {
    const { prefix } = this.#request;
    const { count, last } = table.countAfter(
      { prefix, startAfter: undefined, revision },
      this.#startAfter ?? prefix,
      ROWS_PER_STEP,
    );
    const remaining = counted + count;
    this.#counted = remaining;
    this.#startAfter = last;
    const done = last === undefined;
    return {
      done,
      message: {
        type: "entries",
        id: this.id,
        entries: { keys: [], revisions: [], lengths: [] },
        bytes: new ArrayBuffer(0),
        ...(done && { end: { revision, remaining } }),
      },
    };
  }
}

/** In memory of its own, which can be transferred: a driver may return a view of a larger buffer. */
function ownMemory(bytes: Uint8Array): ArrayBuffer {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) return buffer;
  const packer = new BytePacker();
  packer.add(bytes);
  return packer.take();
}

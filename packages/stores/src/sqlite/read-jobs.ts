// Reads of the database, in steps that are small enough for commits to go in between.

import type { Revision } from "@postern/apiserver/storage/storage";
import { BackupJob } from "./backup-job.ts";
import { BytePacker } from "./byte-packer.ts";
import { outOfRange } from "./out-of-range.ts";
import { EntriesPacker, packEvent, packRow } from "./pack-rows.ts";
import type { RevisionTable } from "./revision-table.ts";
import type { FromWorker, PackedEvent, ReadRequest } from "./worker-protocol.ts";

export type ReadStep = { readonly message: FromWorker; readonly done: boolean };

export type ReadJob = {
  readonly id: number;
  /** Produces about `byteLimit` bytes at most. Throws what the database throws. */
  step(table: RevisionTable, byteLimit: number): ReadStep;
  /** Lets go of what it holds: no step follows. */
  end?(): void;
};

type Request<Type> = ReadRequest & { readonly type: Type };

/** A step looks at so many revisions, or counts so many keys. */
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

class ListJob implements ReadJob {
  readonly id: number;
  readonly #request: Request<"list">;
  #revision: Revision | undefined;
  #startAfter: string | undefined;
  #left: number;
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
    const packer = new EntriesPacker();
    const { keys } = packer;
    let more = false;
    const range = { prefix: this.#request.prefix, startAfter: this.#startAfter, revision };
    table.list(range, (row) => {
      more = keys.length >= this.#left || packer.byteLength >= byteLimit;
      if (!more) packer.add(row);
      return !more;
    });
    this.#left -= keys.length;
    this.#startAfter = keys.at(-1) ?? this.#startAfter;
    const cutOff = more && this.#left === 0;
    const remaining = cutOff ? 1 : 0;
    // Without a key to go on from (a limit of zero) there is nothing to count after: the prefix itself stands for it.
    if (cutOff && this.#request.countRemaining) this.#counted = 0;
    const done = this.#counted === undefined && (!more || cutOff);
    return {
      done,
      message: {
        type: "entries",
        id: this.id,
        ...packer.take(),
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
        ...new EntriesPacker().take(),
        ...(done && { end: { revision, remaining } }),
      },
    };
  }
}

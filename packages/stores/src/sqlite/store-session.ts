// The work of the database thread: commits gathered writes, then runs a step of each read, then some maintenance.

import type { Revision } from "@postern/apiserver/storage/storage";
import { BytePacker } from "./byte-packer.ts";
import type { IntegrityCheck } from "./integrity-check.ts";
import { packEvent } from "./pack-rows.ts";
import { packOutcomes, unpackWrites } from "./packed-writes.ts";
import { createReadJob } from "./read-jobs.ts";
import type { ReadJob } from "./read-step.ts";
import type { RevisionTable, Write } from "./revision-table.ts";
import { toFailure } from "./sqlite-errors.ts";
import type { FromWorker, PackedEvent, ToWorker } from "./worker-protocol.ts";

export type Send = (message: FromWorker) => void;

/** The maximum number of writes per commit, so that the first of them does not wait for too many others. */
const COMMIT_LIMIT = 1_024;
/** Reads may return this many bytes before writes run. */
const READ_BYTES_PER_TURN = 512 << 10;
/**
 * The longest time that sweeping delays a write, in milliseconds, in addition to one commit. It determines the number of rows from
 * the duration of the last steps.
 */
const SWEEP_MS_PER_TURN = 2;
const [MIN_SWEEP_ROWS, MAX_SWEEP_ROWS] = [16, 512];
/** About 2 MiB of log, which takes a few milliseconds to copy. */
const CHECKPOINT_PAGES = 500;
const PAGE_BYTES = 4_096;
/** Rows are appended to the table, but index entries go to a page anywhere. */
const PAGES_PER_WRITE = 1;

export class StoreSession {
  readonly #table: RevisionTable;
  readonly #send: Send;
  /** After a failure: what was stored is read again before the next use. */
  #unclear = false;
  /** The newest revision that the main thread knows. */
  #toldRevision: Revision;
  #writes: Write[] = [];
  #jobs: ReadJob[] = [];
  #logPages = 0;
  #sweepRows = MIN_SWEEP_ROWS;
  #isUpkeepFailing = false;
  #closing = false;

  /** Undefined if the database is known to be intact. */
  #check: IntegrityCheck | undefined;

  constructor(table: RevisionTable, send: Send, check?: IntegrityCheck) {
    this.#check = check;
    this.#table = table;
    this.#send = send;
    this.#toldRevision = table.revision;
    send({ type: "opened", revision: table.revision });
  }

  receive(message: ToWorker): void {
    if (message.type === "close") {
      this.#closing = true;
      return;
    }
    for (const write of unpackWrites(message.writes, message.bytes)) this.#writes.push(write);
    for (const request of message.reads) this.#jobs.push(createReadJob(request));
  }

  /** One turn. False if there is nothing left to do until the next message. */
  turn(): boolean {
    this.#commit();
    if (this.#closing) return this.#writes.length > 0;
    this.#read();
    const tidying = this.#tidyUp();
    return this.#writes.length > 0 || this.#jobs.length > 0 || tidying;
  }

  get isChecking(): boolean {
    return this.#check !== undefined && !this.#closing;
  }

  /** One step of the check of the whole database. Its result is sent once. */
  checkOn(): void {
    if (this.#check === undefined || this.#closing) return;
    try {
      const result = this.#check.step();
      if (result === undefined) return;
      this.#send({ type: "checked", fault: result.fault });
      this.#check.record(result, Date.now());
    } catch (error) {
      // The next start checks again.
      this.#send({ type: "upkeepFailed", failure: toFailure(error) });
    }
    this.#check = undefined;
  }

  get closing(): boolean {
    return this.#closing;
  }

  close(): void {
    for (const job of this.#jobs) job.end?.();
    this.#table.close();
  }

  #commit(): void {
    if (this.#writes.length === 0) return;
    const batch = this.#writes.splice(0, COMMIT_LIMIT);
    try {
      const table = this.#usableTable();
      const results = table.append(batch);
      this.#toldRevision = table.revision;
      this.#send({ type: "committed", ...packOutcomes(results) });
      this.#countPages(batch);
    } catch (error) {
      this.#unclear = true;
      this.#send({ type: "notCommitted", count: batch.length, failure: toFailure(error) });
    }
  }

  #read(): void {
    let bytes = 0;
    // Unfinished reads go to the end of the queue, so that none gets two turns in a row.
    for (let left = this.#jobs.length; left > 0 && bytes < READ_BYTES_PER_TURN; left--) {
      const job = this.#jobs.shift();
      if (job === undefined) return;
      try {
        const step = job.step(this.#usableTable(), READ_BYTES_PER_TURN);
        bytes += "bytes" in step.message ? step.message.bytes.byteLength : 0;
        if (!step.done) this.#jobs.push(job);
        this.#send(step.message);
      } catch (error) {
        job.end?.();
        this.#send({ type: "readFailed", id: job.id, failure: toFailure(error) });
      }
    }
  }

  /** True while there is more maintenance. A failure here affects no request: it is retried after the next message. */
  #tidyUp(): boolean {
    const table = this.#table;
    try {
      if (this.#logPages >= CHECKPOINT_PAGES) {
        this.#logPages = 0;
        table.checkpoint();
      } else if (!table.swept) {
        this.#sweep(table);
      }
      this.#isUpkeepFailing = false;
      return !table.swept;
    } catch (error) {
      if (!this.#isUpkeepFailing) this.#send({ type: "upkeepFailed", failure: toFailure(error) });
      this.#isUpkeepFailing = true;
      return false;
    }
  }

  #sweep(table: RevisionTable): void {
    const rows = this.#sweepRows;
    const tookMs = table.sweep(rows);
    if (tookMs > SWEEP_MS_PER_TURN) this.#sweepRows = Math.max(rows >> 1, MIN_SWEEP_ROWS);
    else if (tookMs < SWEEP_MS_PER_TURN / 2) this.#sweepRows = Math.min(rows << 1, MAX_SWEEP_ROWS);
    this.#logPages += rows;
  }

  #countPages(batch: readonly Write[]): void {
    let bytes = 0;
    for (const { value } of batch) bytes += value?.byteLength ?? 0;
    this.#logPages += batch.length * PAGES_PER_WRITE + Math.ceil(bytes / PAGE_BYTES);
  }

  #usableTable(): RevisionTable {
    const table = this.#table;
    if (this.#unclear) {
      table.reload();
      if (table.revision > this.#toldRevision) this.#tellRecovered(table);
      // Not before: a read error is reported at the next use.
      this.#unclear = false;
    }
    return table;
  }

  // A commit whose last step failed may still be on disk. Its writers got an error that leaves the result open; the watches must see what is stored
  // now.
  #tellRecovered(table: RevisionTable): void {
    const packer = new BytePacker();
    const events: PackedEvent[] = [];
    table.history("", this.#toldRevision, table.revision, (row) => {
      events.push(packEvent(row, packer));
      return true;
    });
    this.#toldRevision = table.revision;
    this.#send({ type: "recovered", events, bytes: packer.take() });
  }
}

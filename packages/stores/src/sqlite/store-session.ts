// The work of the database thread: commits gathered writes, then runs a step of each read, then some maintenance.

import type { Revision } from "@postern/apiserver/storage/storage";
import { BytePacker } from "./byte-packer.ts";
import type { IntegrityCheck } from "./integrity-check.ts";
import { packEvent } from "./pack-rows.ts";
import { packOutcomes, unpackWrites } from "./packed-writes.ts";
import { createReadJob } from "./read-jobs.ts";
import type { ReadJob } from "./read-step.ts";
import type { HistoryRow, RevisionTable, Write, WriteResult } from "./revision-table.ts";
import { toFailure } from "./sqlite-errors.ts";
import type { FromWorker, ToWorker } from "./worker-protocol.ts";

export type Send = (message: FromWorker) => void;

/** A thread that uses the database. */
export type SessionClient = {
  readonly send: Send;
  /** In order: its writes that no commit has taken yet. */
  writes: Write[];
  /** No message of it follows. */
  isLeaving: boolean;
};

type ClientJob = { readonly job: ReadJob; readonly client: SessionClient };

/** The writes of one client in a commit. */
type Part = { readonly client: SessionClient; readonly writes: readonly Write[] };

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
  /** The thread that opened the database, and those that have joined. The one whose turn it is to write first is in front. */
  #clients: SessionClient[];
  readonly #first: SessionClient;
  readonly #onCommitted: (revision: Revision) => void;
  /** After a failure: what was stored is read again before the next use. */
  #unclear = false;
  /** The newest revision that all clients know. */
  #toldRevision: Revision;
  #jobs: ClientJob[] = [];
  #logPages = 0;
  #sweepRows = MIN_SWEEP_ROWS;
  #isUpkeepFailing = false;
  #closing = false;

  /** Undefined if the database is known to be intact. */
  #check: IntegrityCheck | undefined;
  /** The result of the check; "" for nothing found. */
  #fault = "";

  /** `onCommitted` is called with the newest revision on disk, before any client learns of it. */
  constructor(
    table: RevisionTable,
    send: Send,
    check?: IntegrityCheck,
    onCommitted: (revision: Revision) => void = () => {},
  ) {
    this.#check = check;
    this.#table = table;
    this.#onCommitted = onCommitted;
    this.#first = { send, writes: [], isLeaving: false };
    this.#clients = [this.#first];
    this.#toldRevision = table.revision;
    onCommitted(table.revision);
    send({ type: "opened", revision: table.revision, fault: "" });
  }

  /** Another thread, which gets every commit from here on. */
  join(send: Send): SessionClient {
    const client: SessionClient = { send, writes: [], isLeaving: false };
    this.#clients.push(client);
    send({ type: "opened", revision: this.#toldRevision, fault: this.#fault });
    return client;
  }

  /** Nothing is sent to the client any more. What it has written and no commit has taken is dropped. */
  leave(client: SessionClient): void {
    this.#clients = this.#clients.filter((other) => other !== client);
    this.#jobs = this.#jobs.filter((one) => {
      if (one.client === client) one.job.end?.();
      return one.client !== client;
    });
  }

  receive(message: Exclude<ToWorker, { readonly type: "join" }>, client = this.#first): void {
    if (message.type === "close") {
      client.isLeaving = true;
      this.#closing ||= client === this.#first;
      return;
    }
    for (const write of unpackWrites(message.writes, message.bytes)) client.writes.push(write);
    for (const request of message.reads) this.#jobs.push({ job: createReadJob(request), client });
  }

  /** One turn. False if there is nothing left to do until the next message. */
  turn(): boolean {
    this.#commit();
    if (this.#closing) return this.#hasWrites;
    this.#read();
    const tidying = this.#tidyUp();
    return this.#hasWrites || this.#jobs.length > 0 || tidying;
  }

  get #hasWrites(): boolean {
    return this.#clients.some(({ writes }) => writes.length > 0);
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
      this.#fault = result.fault;
      for (const { send } of this.#clients) send({ type: "checked", fault: result.fault });
      this.#check.record(result, Date.now());
    } catch (error) {
      // The next start checks again.
      this.#first.send({ type: "upkeepFailed", failure: toFailure(error) });
    }
    this.#check = undefined;
  }

  get closing(): boolean {
    return this.#closing;
  }

  close(): void {
    for (const { job } of this.#jobs) job.end?.();
    this.#table.close();
  }

  #commit(): void {
    /** Those whose clients have no answer yet. */
    const parts: Part[] = [];
    try {
      this.#takeWrites(parts);
      if (parts.length === 0) return;
      const batch = parts.flatMap(({ writes }) => writes);
      const table = this.#usableTable();
      const results = table.append(batch);
      this.#toldRevision = table.revision;
      this.#onCommitted(table.revision);
      let at = 0;
      for (let part = parts[0]; part !== undefined; part = parts[0]) {
        const { client, writes } = part;
        const own = results.slice(at, at + writes.length);
        client.send({ type: "committed", ...packOutcomes(own) });
        parts.shift();
        this.#tellWritten(client, writes, own);
        at += writes.length;
      }
      this.#countPages(batch);
    } catch (error) {
      this.#unclear = true;
      const failure = toFailure(error);
      // No answer has it: it is logged all the same.
      if (parts.length === 0) this.#first.send({ type: "upkeepFailed", failure });
      for (const { client, writes } of parts) client.send({ type: "notCommitted", count: writes.length, failure });
    }
  }

  /** Each client is once the first: none waits for more than one commit of the others. */
  #takeWrites(parts: Part[]): void {
    let left = COMMIT_LIMIT;
    for (const client of this.#clients) {
      if (left === 0) break;
      if (client.writes.length === 0) continue;
      const writes = client.writes.splice(0, left);
      left -= writes.length;
      parts.push({ client, writes });
    }
    const first = this.#clients.shift();
    if (first !== undefined) this.#clients.push(first);
  }

  /** The client has its writes; the others need them whole. */
  #tellWritten(client: SessionClient, writes: readonly Write[], results: readonly WriteResult[]): void {
    if (this.#clients.length === 1) return;
    const rows = writes.flatMap(({ key, value }, index): HistoryRow[] => {
      const result = results[index];
      if (result?.type !== "written") return [];
      return [{ key, value, revision: result.revision, previous: result.before }];
    });
    this.#tellOthers(client, rows);
  }

  #tellOthers(client: SessionClient | undefined, rows: readonly HistoryRow[]): void {
    if (rows.length === 0) return;
    for (const { send } of this.#clients.filter((other) => other !== client)) {
      const packer = new BytePacker();
      const events = rows.map((row) => packEvent(row, packer));
      send({ type: "stored", events, bytes: packer.take() });
    }
  }

  #read(): void {
    let bytes = 0;
    // Unfinished reads go to the end of the queue, so that none gets two turns in a row.
    for (let left = this.#jobs.length; left > 0 && bytes < READ_BYTES_PER_TURN; left--) {
      const next = this.#jobs.shift();
      if (next === undefined) return;
      const { job, client } = next;
      try {
        const step = job.step(this.#usableTable(), READ_BYTES_PER_TURN);
        bytes += "bytes" in step.message ? step.message.bytes.byteLength : 0;
        if (!step.done) this.#jobs.push(next);
        client.send(step.message);
      } catch (error) {
        job.end?.();
        client.send({ type: "readFailed", id: job.id, failure: toFailure(error) });
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
      if (!this.#isUpkeepFailing) this.#first.send({ type: "upkeepFailed", failure: toFailure(error) });
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
    const rows: HistoryRow[] = [];
    table.history("", this.#toldRevision, table.revision, (row) => {
      rows.push(row);
      return true;
    });
    this.#toldRevision = table.revision;
    this.#onCommitted(table.revision);
    this.#tellOthers(undefined, rows);
  }
}

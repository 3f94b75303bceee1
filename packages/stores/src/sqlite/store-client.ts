// The side of the worker protocol of a thread that uses the database: batches requests, and distributes responses and events.

import { caught } from "@postern/apimachinery/steps/caught";
import type {
  ListOptions,
  ListResult,
  Revision,
  StorageEvent,
  StoredEntry,
  WatchObserver,
} from "@postern/apiserver/storage/storage";
import { StorageFullError, StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import { revisionOf, type Watcher, WatcherSet } from "@postern/apiserver/storage/watcher-set";
import { unpackOutcomes, type WriteOutcome, WritePacker } from "./packed-writes.ts";
import type { Write } from "./revision-table.ts";
import { toStorageError } from "./sqlite-errors.ts";
import { closedError, fullError, rangeError, refusal, threadError } from "./store-client-errors.ts";
import type { StorePort } from "./store-port.ts";
import { eventOf, unpackEntries, unpackEntry, unpackEvent } from "./unpack-entries.ts";
import type { FromWorker, ReadRequest } from "./worker-protocol.ts";

type Answer<Type extends FromWorker["type"]> = FromWorker & { readonly type: Type };

type PendingWrite = Write & {
  /** Stays in this thread, for the event. */
  readonly content: unknown;
  readonly resolve: (revision: Revision) => void;
  readonly reject: (error: Error) => void;
};

type AnsweredWrite = { readonly write: PendingWrite; readonly outcome: WriteOutcome | undefined };

/** The event of a write that was committed, and the write where it is one of this client. */
type Delivery = { readonly event: StorageEvent | undefined; readonly answered?: AnsweredWrite };

/** `receive` gets the responses up to the last one; errors go to `reject`. */
type PendingRead = {
  readonly receive: (answer: FromWorker) => void;
  readonly reject: (error: Error) => void;
};

/** Requests whose writes are committed together all have work left. So many go on in one turn of the event loop, and others between them. */
const SETTLED_AT_ONCE = 8;
/** Large objects are sent in smaller batches: the work of requests and watches grows with their size. */
const BYTES_AT_ONCE = 128 << 10;

/** Distributes over the union, unlike Omit. */
type WithoutId<Request> = Request extends unknown ? Omit<Request, "id"> : never;

export type StoreClientDeps = {
  readonly port: StorePort;
  /** The revision of the store when this client has joined. */
  readonly revision: Revision;
  /** The newest revision on disk, where others write as well. Default: this client writes alone. */
  readonly newest?: (() => Revision) | undefined;
  readonly onChecked?: (fault: string) => void;
  readonly onFailure?: ((error: Error) => void) | undefined;
};

export class StoreClient {
  readonly #port: StorePort;
  readonly #newest: (() => Revision) | undefined;
  readonly #watchers = new WatcherSet();
  /** Sent or about to be sent, in order; the thread responds in the same order. */
  readonly #pendingWrites: PendingWrite[] = [];
  /** In order: watches have not been notified of them yet. */
  #undelivered: Delivery[] = [];
  /** Messages of the thread that came behind these. */
  readonly #inbox: FromWorker[] = [];
  /** Delivered, in order: their promises are still pending. */
  readonly #unsettled: AnsweredWrite[] = [];
  readonly #pendingReads = new Map<number, PendingRead>();
  readonly #onChecked: (fault: string) => void;
  readonly #onFailure: (error: Error) => void;
  /** The newest revision whose commit was confirmed. */
  #revision: Revision;
  /** The newest revision; undefined when the client is over. */
  readonly known: { readonly revision: Revision | undefined };
  #nextId = 1;
  readonly #unsentWrites = new WritePacker();
  #unsentReads: ReadRequest[] = [];
  #flushing = false;
  /** Why no more requests are accepted. */
  #over: StorageUnavailableError | undefined;
  #closing: Promise<void> | undefined;

  constructor({ port, revision, newest, onChecked = () => {}, onFailure = () => {} }: StoreClientDeps) {
    this.#port = port;
    this.#newest = newest;
    this.#onChecked = onChecked;
    this.#onFailure = onFailure;
    this.#revision = revision;
    const newestKnown = (): Revision | undefined => (this.#over === undefined ? this.#newestRevision() : undefined);
    this.known = {
      get revision() {
        return newestKnown();
      },
    };
    // After an unreadable answer, the order of answers no longer matches the order of writes.
    const onMessage = (message: FromWorker): void => this.#receive(message);
    port.onMessage(caught(this.#fail, onMessage));
    port.onEnd((failure) => this.#finish(failure === undefined ? closedError() : threadError(failure)));
  }

  get(key: string, signal: AbortSignal | undefined): Promise<StoredEntry | undefined> {
    return this.#read({ type: "get", key }, signal, (answer, resolve) => {
      if (answer.type === "entry") resolve(answer.entry && unpackEntry(answer.bytes, key, answer.entry));
    });
  }

  list(prefix: string, options: ListOptions): Promise<ListResult> {
    const { limit, startAfter, revision, remaining = "exact", signal } = options;
    const entries: StoredEntry[] = [];
    const request = {
      type: "list" as const,
      prefix,
      countRemaining: remaining === "exact",
      ...(limit !== undefined && { limit }),
      ...(startAfter !== undefined && { startAfter }),
      ...(revision !== undefined && { revision }),
    };
    return this.#read(request, signal, (answer, resolve) => {
      if (answer.type !== "entries") return;
      unpackEntries(answer.bytes, answer.entries, entries);
      if (answer.end !== undefined) resolve({ entries, ...answer.end });
    });
  }

  compact(revision: Revision): Promise<void> {
    return this.#read({ type: "compact", revision }, undefined, (answer, resolve) => {
      if (answer.type === "compacted") resolve();
    });
  }

  /** Resolves with the revision whose state is in the file. */
  backup(path: string): Promise<Revision> {
    return this.#read({ type: "backup", path }, undefined, (answer, resolve) => {
      if (answer.type === "backedUp") resolve(answer.revision);
    });
  }

  currentRevision(): Revision {
    if (this.#over !== undefined) throw this.#over;
    return this.#newestRevision();
  }

  #newestRevision(): Revision {
    return this.#newest === undefined ? this.#revision : this.#newest();
  }

  /** `value` undefined means delete; `expected` undefined means create. */
  write({ key, expected, value }: Write, content?: unknown): Promise<Revision> {
    return new Promise((resolve, reject) => {
      if (this.#over !== undefined) return reject(this.#over);
      this.#unsentWrites.add({ key, expected, value });
      // Not earlier: an error before this leaves no request without an answer.
      this.#pendingWrites.push({ key, expected, value, content, resolve, reject });
      this.#flushSoon();
    });
  }

  watch(prefix: string, fromRevision: Revision, observer: WatchObserver): Disposable {
    const live = fromRevision >= this.#revision;
    const watcher = this.#watchers.add(prefix, fromRevision, live, observer);
    const over = this.#over;
    if (over !== undefined) queueMicrotask(() => this.#watchers.fail(watcher, over));
    else if (!live) this.#catchUp(watcher);
    return { [Symbol.dispose]: () => this.#watchers.remove(watcher) };
  }

  /** Finishes pending requests, then closes the file. */
  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      const alreadyOver = this.#over !== undefined;
      this.#over ??= closedError();
      this.#flush();
      this.#port.onEnd(() => resolve());
      this.#port.send({ type: "close" });
      // A failed thread exits by itself, and may already have done so.
      if (alreadyOver) void this.#port.terminate().then(() => resolve());
    });
    return this.#closing;
  }

  #read<Result>(
    request: WithoutId<ReadRequest>,
    signal: AbortSignal | undefined,
    receive: (answer: FromWorker, resolve: (result: Result) => void) => void,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      if (this.#over !== undefined) throw this.#over;
      const id = this.#nextId++;
      const settle = (action: () => void) => {
        this.#pendingReads.delete(id);
        signal?.removeEventListener("abort", abort);
        action();
      };
      const abort = () => settle(() => reject(signal?.reason));
      signal?.addEventListener("abort", abort);
      this.#pendingReads.set(id, {
        receive: (answer) => receive(answer, (result) => settle(() => resolve(result))),
        reject: (error) => settle(() => reject(error)),
      });
      this.#unsentReads.push({ ...request, id });
      this.#flushSoon();
    });
  }

  /** The response brings the watcher up to this client's revision: the thread has sent every commit before it. */
  #catchUp(watcher: Watcher): void {
    const { prefix, covered } = watcher;
    const answered = this.#read<Answer<"events">>(
      { type: "events", prefix, after: covered },
      undefined,
      (answer, resolve) => {
        if (answer.type !== "events") return;
        const { bytes, upTo } = answer;
        watcher.live = answer.caughtUp;
        watcher.offer({ events: answer.events.map((event) => unpackEvent(bytes, event)), revision: upTo });
        resolve(answer);
      },
    );
    answered.then(
      ({ caughtUp }) => {
        if (!caughtUp && !watcher.disposed && this.#over === undefined) this.#catchUp(watcher);
      },
      (error) => this.#watchers.fail(watcher, error),
    );
  }

  /** Its messages are worked on in order. */
  #receive(message: FromWorker): void {
    if (this.#undelivered.length > 0) this.#inbox.push(message);
    else this.#take(message);
  }

  #take(message: FromWorker): void {
    switch (message.type) {
      case "committed":
        this.#committed(message);
        break;
      case "notCommitted": {
        const error = this.#failureOf(message);
        for (const write of this.#pendingWrites.splice(0, message.count)) write.reject(error);
        break;
      }
      case "stored":
        this.#undelivered = message.events.map((event) => ({ event: unpackEvent(message.bytes, event) }));
        this.#deliverSome();
        break;
      case "outOfRange":
        this.#pendingReads.get(message.id)?.reject(rangeError(message));
        break;
      case "readFailed":
        this.#pendingReads.get(message.id)?.reject(this.#failureOf(message));
        break;
      case "upkeepFailed":
        this.#failureOf(message);
        break;
      case "checked":
        this.#onChecked(message.fault);
        break;
      case "opened":
      case "openFailed":
      case "examined":
        break;
      default:
        this.#pendingReads.get(message.id)?.receive(message);
    }
  }

  /** The log gets the cause: clients see only that the store is unavailable. A full disk is in their answer, and is not logged. */
  #failureOf({ failure }: Answer<"notCommitted" | "readFailed" | "upkeepFailed">): StorageUnavailableError {
    const error = toStorageError(failure);
    if (!(error instanceof StorageFullError)) this.#onFailure(error);
    return error;
  }

  #committed({ outcomes, bytes }: Answer<"committed">): void {
    const unpacked = unpackOutcomes(outcomes, bytes);
    const writes = this.#pendingWrites.slice(0, unpacked.length);
    this.#undelivered = writes.map((write, index) => {
      const outcome = unpacked[index];
      const event = outcome?.type === "written" ? eventOf(write, outcome) : undefined;
      return { event, answered: { write, outcome } };
    });
    this.#deliverSome();
  }

  /** A commit of large objects is delivered in several turns of the event loop, and each write settles behind its own event. */
  #deliverSome(): void {
    let bytes = 0;
    let count = 0;
    const events: StorageEvent[] = [];
    const answered: AnsweredWrite[] = [];
    for (const delivery of this.#undelivered) {
      if (bytes >= BYTES_AT_ONCE) break;
      count++;
      if (delivery.event !== undefined) {
        events.push(delivery.event);
        if (delivery.event.type === "put") bytes += delivery.event.entry.value.length;
      }
      if (delivery.answered !== undefined) answered.push(delivery.answered);
    }
    this.#deliver(events);
    // Not earlier: on an error before this, they are still among the requests to reject.
    this.#pendingWrites.splice(0, answered.length);
    this.#undelivered.splice(0, count);
    const isIdle = this.#unsettled.length === 0;
    this.#unsettled.push(...answered);
    if (isIdle) this.#settleSome();
    const deliverMore = (): void => this.#deliverMore();
    if (this.#undelivered.length > 0) setImmediate(caught(this.#fail, deliverMore));
  }

  #deliverMore(): void {
    if (this.#undelivered.length > 0) this.#deliverSome();
    for (;;) {
      const message = this.#undelivered.length > 0 ? undefined : this.#inbox.shift();
      if (message === undefined) return;
      this.#take(message);
    }
  }

  /** Those of a later commit wait for all of an earlier one. */
  #settleSome(): void {
    let bytes = 0;
    let settled = 0;
    for (const { write, outcome } of this.#unsettled) {
      if (settled === SETTLED_AT_ONCE || bytes >= BYTES_AT_ONCE) break;
      settled++;
      bytes += write.value?.length ?? 0;
      if (outcome?.type === "written") write.resolve(outcome.revision);
      else if (outcome?.type === "full") write.reject(fullError());
      else write.reject(refusal(write, outcome?.before && { key: write.key, ...outcome.before }));
    }
    this.#unsettled.splice(0, settled);
    const settleMore = (): void => this.#settleSome();
    if (this.#unsettled.length > 0) setImmediate(caught(this.#fail, settleMore));
  }

  /** An error of this side, also while it settles writes: no later call would settle the rest of them. */
  readonly #fail = (cause: unknown): void => {
    const error = threadError(cause);
    for (const { write } of this.#unsettled.splice(0)) write.reject(error);
    this.#end(error);
  };

  #deliver(events: readonly StorageEvent[]): void {
    const last = events[events.length - 1];
    if (last === undefined) return;
    this.#revision = revisionOf(last);
    this.#watchers.deliver({ events, revision: this.#revision });
  }

  // Sends all requests of one turn of the event loop in one message.
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    const failed = (cause: unknown): void =>
      this.#end(new StorageUnavailableError("requests cannot be sent to the database thread", { cause }));
    const flush = (): void => this.#flush();
    setImmediate(caught(failed, flush));
  }

  #flush(): void {
    this.#flushing = false;
    if (this.#unsentWrites.count === 0 && this.#unsentReads.length === 0) return;
    const reads = this.#unsentReads;
    this.#unsentReads = [];
    this.#port.send({ type: "requests", reads, ...this.#unsentWrites.take() });
  }

  /** The thread has ended. */
  #finish(error: StorageUnavailableError): void {
    const deliverAll = (): void => {
      while (this.#undelivered.length > 0) this.#deliverMore();
    };
    caught(this.#fail, deliverAll)();
    this.#end(error);
  }

  #end(error: StorageUnavailableError): void {
    this.#over ??= error;
    this.#undelivered = [];
    this.#inbox.length = 0;
    for (const write of this.#pendingWrites.splice(0)) write.reject(error);
    for (const read of [...this.#pendingReads.values()]) read.reject(error);
    this.#watchers.failAll(error);
  }
}

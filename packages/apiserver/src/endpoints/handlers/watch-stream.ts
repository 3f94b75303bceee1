// The events of one watch, and the state that it begins with, in the order and at the pace in which its client takes them.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/watch.go

import { ApiError, expiredError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { RequestContext } from "../../context/request-context.ts";
import type { InstalledResource } from "../../registry/resource-registry.ts";
import type {
  ReadInitialState,
  WatchEventObserver,
  WatchEventType,
  WatchQuery,
} from "../../registry/resource-storage.ts";
import type { Revision } from "../../storage/storage.ts";
import { type ByteSink, PeerFault, StreamFault } from "../../transport/api-response.ts";
import type { BacklogQueue, BacklogScope, ConnectionBacklog } from "../../transport/watch-backlog.ts";
import type { EndpointContext } from "../endpoint-context.ts";
import { scheduleBookmarks } from "./watch-bookmarks.ts";
import { NoFrameError, type WatchEncoder } from "./watch-encoder.ts";

/** Events joined into one write. So much of each watch lies where HTTP/2 counts it against its connection. */
const CHUNK_BYTES = 64 * 1024;
const NOTHING_YET = new Uint8Array(0);
const NONE: readonly CachedObject[] = [];
/** How long a client may take to read the last event of a watch that the server ends. */
const FAREWELL_MS = 10_000;

/** An event is made into a line when the client takes it: until then it is an object that others hold as well. */
type Entry =
  | { readonly type: WatchEventType; readonly object: CachedObject }
  | { readonly type: "line"; readonly line: Uint8Array };

type StreamContext = Pick<RequestContext, "open" | "takeTurn" | "nextTurn">;

/** One watch of one client. Takes events from the moment it exists, and writes them once the response has begun. */
export class WatchStream implements WatchEventObserver {
  readonly #encoder: WatchEncoder;
  readonly #query: WatchQuery;
  readonly #resource: InstalledResource;
  readonly #endpoint: EndpointContext;
  readonly #context: StreamContext;
  #subscription: Disposable | undefined;
  /** The state that the watch begins with, until all of it is read. */
  #readInitial: ReadInitialState | undefined;
  /** The part of it that is being read: nothing is written until it is there. */
  #reading: Promise<readonly CachedObject[] | undefined> | undefined;
  /** The part of it that has been read, and comes before all events that wait. */
  #page: readonly CachedObject[] = NONE;
  #pageTaken = 0;
  /** Events before the response began, since the client saw the state. The cache holds them anyway. */
  #past: Entry[] = [];
  #pastTaken = 0;
  readonly #queue: BacklogQueue<Entry>;
  #sink: ByteSink | undefined;
  /** Whether `#write` is under way, or will be once the client has taken what was written. */
  #isWriting = false;
  /** Text only when a bookmark is sent: events are many. */
  #progress: Revision | string = "";
  /** Nothing more comes than what waits. */
  #isEnding = false;
  #isOver = false;
  #isCut = false;
  /** The first unexpected error, which ended the watch. */
  #fault: { readonly error: unknown } | undefined;
  readonly #finished: Promise<void>;
  #finish: () => void = () => undefined;

  constructor(
    encoder: WatchEncoder,
    query: WatchQuery,
    resource: InstalledResource,
    endpoint: EndpointContext,
    backlog: ConnectionBacklog,
    context: StreamContext,
  ) {
    this.#encoder = encoder;
    this.#query = query;
    this.#resource = resource;
    this.#endpoint = endpoint;
    this.#context = context;
    this.#queue = backlog.queue((scope) => this.#tooSlow(scope));
    this.#finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  attach(subscription: Disposable): void {
    this.#subscription = subscription;
    if (this.#isOver || this.#isEnding) subscription[Symbol.dispose]();
  }

  initialState(read: ReadInitialState): void {
    this.#readInitial = read;
  }

  event(type: WatchEventType, object: CachedObject): void {
    try {
      if (this.#isEnding || this.#isOver || !this.#isAllowed()) return;
      this.#progress = object.revision;
      if (this.#sink === undefined) this.#past.push({ type, object });
      else if (!this.#isWriting && this.#encoder.hasTime(type, object))
        this.#writeLine(this.#sink, this.#counted(this.#encoder.event(type, object)));
      else {
        this.#queue.push({ type, object }, object, object.byteLength);
        const sink = this.#sink;
        if (!this.#isWriting) this.#guard(() => this.#write(sink));
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  initialEventsEnd(resourceVersion: string): void {
    // Nothing has passed yet that this bookmark does not tell.
    this.#progress = "";
    if (this.#query.allowWatchBookmarks) this.#guard(() => this.#send(this.#encoder.initialEventsEnd(resourceVersion)));
  }

  progress(resourceVersion: string): void {
    this.#progress = resourceVersion;
  }

  error(error: Error): void {
    this.#guard(() => this.#endWith(error instanceof ApiError ? error : watchFailure(error)));
  }

  /** Resolves when the watch has ended, however it did. Rejects when its client took too long to read the end of it. */
  async run(sink: ByteSink, signal: AbortSignal, timeoutMs: number): Promise<void> {
    const { scheduler } = this.#endpoint.runtime;
    const stop = () => this.#end();
    const retire = () => this.#endAfterwards();
    const { retired } = this.#resource;
    signal.addEventListener("abort", stop, { once: true });
    retired.addEventListener("abort", retire, { once: true });
    if (signal.aborted || timeoutMs < 0) stop();
    else if (retired.aborted) retire();
    this.#sink = sink;
    using _deadline = scheduler.schedule(Math.max(0, timeoutMs), stop);
    using _bookmarks = this.#query.allowWatchBookmarks
      ? scheduleBookmarks(this.#endpoint.runtime, timeoutMs, {
          // A client must not resume from a partial state.
          progress: () => (this.#readInitial === undefined ? String(this.#progress) : ""),
          send: (progress) => this.#guard(() => this.#send(this.#encoder.bookmark(progress))),
        })
      : undefined;
    if (this.#isEnding) this.#hurry();
    this.#guard(() => this.#write(sink));
    await this.#finished;
    signal.removeEventListener("abort", stop);
    retired.removeEventListener("abort", retire);
    if (this.#fault !== undefined) throw new StreamFault("the watch failed", { cause: this.#fault.error });
    if (!this.#isCut) return;
    this.#endpoint.metrics?.watchTerminated(this.#resource, "farewell");
    throw new PeerFault("the client of the watch stopped reading");
  }

  /** Errors must not reach the source of the event: they end this watch, without a further frame, as in kube-apiserver. */
  #guard(work: () => void | Promise<void>): void {
    try {
      work()?.catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (!(error instanceof NoFrameError)) this.#fault ??= { error };
    this.#end();
  }

  /** Changes since the right to see them was lost are not sent, however much else waits to be decided again. */
  #isAllowed(): boolean {
    const isAllowed = this.#context.open?.isAllowed() !== false;
    if (!isAllowed) this.#end();
    return isAllowed;
  }

  #counted(line: Uint8Array): Uint8Array {
    this.#endpoint.metrics?.watchEvent(this.#resource);
    return line;
  }

  #send(line: Uint8Array): void {
    if (this.#isEnding || this.#isOver) return;
    if (this.#sink === undefined) this.#past.push({ type: "line", line });
    else if (this.#isWriting) this.#queue.push({ type: "line", line }, line, line.length);
    else this.#writeLine(this.#sink, line);
  }

  /** The way of most events: the client has taken all that was before. */
  #writeLine(sink: ByteSink, line: Uint8Array): void {
    const taken = sink.write(line);
    if (taken === true) return;
    this.#isWriting = true;
    this.#guard(() => this.#continue(sink, taken));
  }

  async #continue(sink: ByteSink, taken: false | Promise<boolean>): Promise<void> {
    if (await taken) await this.#write(sink);
    else this.#end();
  }

  /**
   * Writes what waits, as fast as the client takes it; then events go straight through. Earlier events and state take a turn for each chunk:
   * many watches that begin together would keep others waiting.
   */
  async #write(sink: ByteSink): Promise<void> {
    this.#isWriting = true;
    for (;;) {
      const isBeginning =
        this.#past.length > 0 || this.#readInitial !== undefined || this.#pageTaken < this.#page.length;
      // A line that many watches send is made by the first of them, and at hand for the others when their turn comes.
      while (!isBeginning && !this.#isOver && !this.#hasTime(this.#queue.next)) await this.#context.nextTurn();
      const isTaken = await this.#writeChunk(sink, isBeginning);
      if (isTaken === undefined) break;
      if (!isTaken) this.#end();
      // Without a place: it may be a tenant's server that is waited for.
      if (this.#reading !== undefined) await this.#awaitPage(this.#reading);
    }
    if (this.#isOver) return;
    this.#isWriting = false;
    if (this.#isEnding) this.#end();
  }

  async #takeTurn(): Promise<Disposable | undefined> {
    try {
      return await this.#context.takeTurn?.();
    } catch {
      this.#end();
      return undefined;
    }
  }

  /** Whether the client has taken what waits; undefined when nothing does. A place is held while the chunk is made, not while the client takes it. */
  async #writeChunk(sink: ByteSink, isBeginning: boolean): Promise<boolean | undefined> {
    using _place = isBeginning ? await this.#takeTurn() : undefined;
    const chunk = this.#isOver ? undefined : this.#nextChunk();
    if (chunk === undefined) return undefined;
    return chunk.length === 0 || sink.write(chunk);
  }

  async #awaitPage(reading: Promise<readonly CachedObject[] | undefined>): Promise<void> {
    try {
      const objects = await reading;
      if (objects === undefined) this.#readInitial = undefined;
      else this.#setPage(objects);
    } catch (error) {
      if (!this.#isOver) this.error(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#reading = undefined;
    }
  }

  /** Lines that wait, joined; undefined when none do, and empty where more of the state has to be looked at. */
  #nextChunk(): Uint8Array | undefined {
    const lines: Uint8Array[] = [];
    let size = 0;
    const add = (line: Uint8Array): void => {
      lines.push(line);
      size += line.length;
    };
    // Once for all of it: no right is lost while this runs.
    if (this.#pageTaken < this.#page.length && !this.#isAllowed()) return undefined;
    const workBefore = this.#encoder.work;
    while (size + this.#encoder.work - workBefore < CHUNK_BYTES) {
      // Joined with others, it would be a copy for each watch.
      if (lines.length > 0 && this.#isNextLong()) break;
      if (this.#pageTaken < this.#page.length) {
        const object = this.#page[this.#pageTaken++];
        if (object !== undefined) add(this.#counted(this.#encoder.initial(object)));
        continue;
      }
      // At least one in a turn.
      if (lines.length > 0 && this.#pastTaken === this.#past.length && !this.#hasTime(this.#queue.next)) break;
      const entry = this.#nextEntry();
      if (entry !== undefined) {
        add(entry.type === "line" ? entry.line : this.#counted(this.#encoder.event(entry.type, entry.object)));
        continue;
      }
      // Only now: what has changed of the objects that were read before has been sent.
      if (this.#readInitial === undefined) break;
      if (!this.#isAllowed()) return undefined;
      const objects = this.#readInitial(Math.max(1, CHUNK_BYTES - size));
      if (objects instanceof Promise) {
        this.#reading = objects;
        return lines.length > 0 ? Buffer.concat(lines) : NOTHING_YET;
      }
      if (objects === undefined) {
        this.#readInitial = undefined;
        continue;
      }
      this.#setPage(objects);
      if (objects.length === 0) return lines.length > 0 ? Buffer.concat(lines) : NOTHING_YET;
    }
    return lines.length > 1 ? Buffer.concat(lines) : lines[0];
  }

  #isNextLong(): boolean {
    const page = this.#page[this.#pageTaken];
    if (page !== undefined) return page.byteLength >= CHUNK_BYTES;
    const entry = this.#past[this.#pastTaken] ?? this.#queue.next;
    return entry !== undefined && entry.type !== "line" && entry.object.byteLength >= CHUNK_BYTES;
  }

  #hasTime(entry: Entry | undefined): boolean {
    return entry === undefined || entry.type === "line" || this.#encoder.hasTime(entry.type, entry.object);
  }

  #setPage(objects: readonly CachedObject[]): void {
    this.#page = objects;
    this.#pageTaken = 0;
  }

  #nextEntry(): Entry | undefined {
    const entry = this.#past[this.#pastTaken];
    if (entry === undefined) return this.#queue.shift();
    this.#pastTaken += 1;
    if (this.#pastTaken === this.#past.length) this.#forgetPast();
    return entry;
  }

  #forgetPast(): void {
    this.#past = [];
    this.#pastTaken = 0;
  }

  /** The client has to list again: feeding it from unbounded memory would be no help to it, and events may not be missing. */
  #tooSlow(scope: BacklogScope): void {
    this.#endpoint.metrics?.watchTerminated(this.#resource, scope);
    this.#forgetPast();
    this.#endWith(expiredError("the watch is too slow: too many events are waiting for its client"));
  }

  #endWith(error: ApiError): void {
    if (this.#isEnding) return;
    this.#readInitial = undefined;
    this.#send(this.#encoder.error(error));
    this.#endAfterwards();
  }

  /** Ends when the client has read what waits for it. */
  #endAfterwards(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#subscription?.[Symbol.dispose]();
    if (this.#sink === undefined) return;
    this.#hurry();
    if (!this.#isWriting) this.#end();
  }

  #hurry(): void {
    const timer = this.#endpoint.runtime.scheduler.schedule(FAREWELL_MS, () => {
      this.#isCut = true;
      this.#end();
    });
    void this.#finished.then(() => timer[Symbol.dispose]());
  }

  #end(): void {
    this.#isOver = true;
    this.#subscription?.[Symbol.dispose]();
    this.#readInitial = undefined;
    this.#setPage(NONE);
    this.#forgetPast();
    this.#queue.clear();
    this.#finish();
  }
}

const watchFailure = (cause: Error): ApiError =>
  new ApiError({ code: 500, reason: "InternalError", message: "the watch cannot be continued", cause });

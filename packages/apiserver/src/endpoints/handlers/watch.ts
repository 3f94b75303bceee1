// GET with watch=true: streams events as JSON lines until the client goes, the time is up, or the watch cannot be kept whole.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/watch.go

import { ApiError, isApiError, verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import type { OpenRequest } from "../../authorization/open-requests.ts";
import type { CachedObject } from "../../cache/cached-object.ts";
import { groupResourceOf } from "../../registry/resource-definition.ts";
import type { InstalledResource } from "../../registry/resource-registry.ts";
import type { WatchEventObserver, WatchQuery } from "../../registry/resource-storage.ts";
import type { Revision } from "../../storage/storage.ts";
import type { ApiResponse, ByteSink } from "../../transport/api-response.ts";
import type { EndpointContext, VerbHandler } from "../endpoint-context.ts";
import { negotiateStream } from "../negotiation/negotiate-output.ts";
import { readListOptions, watchQueryOf } from "./list-query.ts";
import { createWatchEncoder, type WatchEncoder } from "./watch-encoder.ts";
import { webSocketResponse, webSocketUpgrade } from "./watch-websocket.ts";

const BOOKMARK_INTERVAL_MS = 60_000;
/** A last bookmark goes out this long before the deadline, so that the next watch starts close to where this one ended. */
const LAST_BOOKMARK_LEAD_MS = 2_000;
const MIN_TIMEOUT_SECONDS = 1_800;

/** Events joined into one write while the initial state goes out. */
const CHUNK_BYTES = 256 * 1024;

export const handleWatch: VerbHandler = async (context, resource, endpoint) => {
  const { definition, storage } = resource;
  if (storage.watch === undefined) {
    throw verbNotSupportedError(groupResourceOf(definition), "watch");
  }
  const output = negotiateStream(context.request);
  const options = readListOptions(context);
  const query = watchQueryOf(options, context);
  const encoder = createWatchEncoder(context, definition, output, {
    clock: endpoint.runtime.clock,
    eventLines: endpoint.eventLines,
  });
  const stream = new WatchStream(encoder, query, resource, endpoint, context.open);
  try {
    stream.attach(await storage.watch(context, query, stream));
  } catch (error) {
    // What a client would see as a broken list is told inside the stream: reflectors look for it there.
    if (!isApiError(error, "Expired") && !isApiError(error, "Timeout")) throw error;
    stream.error(error);
  }
  const timeoutMs = timeoutOf(options.timeoutSeconds, endpoint);
  const run: StreamRun = (sink, signal) => stream.run(sink, AbortSignal.any([signal, context.signal]), timeoutMs);
  const upgrade = webSocketUpgrade(context.request);
  return upgrade === undefined ? watchResponse(run) : webSocketResponse(context.request, upgrade, run);
};

type StreamRun = Extract<ApiResponse["body"], { readonly type: "stream" }>["run"];

const watchResponse = (run: StreamRun): ApiResponse => ({
  status: 200,
  headers: { "cache-control": "no-cache, private", "content-type": "application/json" },
  body: { type: "stream", run },
});

/** Without a wish of the client's, ends are spread over half an hour, so that clients do not all come back at once. */
function timeoutOf(timeoutSeconds: number | undefined, { runtime }: EndpointContext): number {
  if (timeoutSeconds !== undefined && timeoutSeconds !== 0) return timeoutSeconds * 1000;
  const [random = 0] = runtime.random.bytes(1);
  return MIN_TIMEOUT_SECONDS * 1000 * (1 + random / 256);
}

/** One watch of one client. Takes events from the moment it exists, and writes them once the response has begun. */
class WatchStream implements WatchEventObserver {
  readonly #encoder: WatchEncoder;
  readonly #query: WatchQuery;
  readonly #resource: InstalledResource;
  readonly #endpoint: EndpointContext;
  readonly #open: OpenRequest | undefined;
  #subscription: Disposable | undefined;
  #waiting: Uint8Array[] | undefined = [];
  #sink: ByteSink | undefined;
  /** Text only when a bookmark is sent: events are many. */
  #progress: Revision | string = "";
  #isOver = false;
  #finish: (() => void) | undefined;

  constructor(
    encoder: WatchEncoder,
    query: WatchQuery,
    resource: InstalledResource,
    endpoint: EndpointContext,
    open: OpenRequest | undefined,
  ) {
    this.#encoder = encoder;
    this.#query = query;
    this.#resource = resource;
    this.#endpoint = endpoint;
    this.#open = open;
  }

  attach(subscription: Disposable): void {
    this.#subscription = subscription;
    if (this.#isOver) subscription[Symbol.dispose]();
  }

  event(type: "ADDED" | "MODIFIED" | "DELETED", object: CachedObject): void {
    // What has changed since the right to see it was lost is not sent, however much else waits to be decided again.
    if (this.#open?.isAllowed() === false) {
      this.#end();
      return;
    }
    const line = this.#encoder.event(type, object);
    this.#endpoint.metrics?.watchEvent(this.#resource, line.length);
    this.#progress = object.revision;
    this.#send(line);
  }

  initialEventsEnd(resourceVersion: string): void {
    // Nothing has passed yet that this bookmark does not tell.
    this.#progress = "";
    if (this.#query.allowWatchBookmarks) this.#send(this.#encoder.bookmark(resourceVersion, true));
  }

  progress(resourceVersion: string): void {
    this.#progress = resourceVersion;
  }

  error(error: Error): void {
    this.#send(this.#encoder.error(error instanceof ApiError ? error : watchFailure(error)));
    this.#end();
  }

  /** Resolves when the watch has ended, however it did. */
  async run(sink: ByteSink, signal: AbortSignal, timeoutMs: number): Promise<void> {
    const { scheduler } = this.#endpoint.runtime;
    const finished = new Promise<void>((resolve) => {
      this.#finish = resolve;
    });
    const stop = () => this.#end();
    signal.addEventListener("abort", stop, { once: true });
    if (timeoutMs > 0) await this.#drain(sink);
    this.#sink = sink;
    if (this.#isOver || signal.aborted || timeoutMs < 0) {
      this.#end();
      return;
    }
    using _deadline = scheduler.schedule(timeoutMs, stop);
    using _bookmarks = this.#query.allowWatchBookmarks ? this.#scheduleBookmarks(timeoutMs) : undefined;
    await finished;
    signal.removeEventListener("abort", stop);
  }

  /** Writes what came before the response began, as fast as the client takes it; then events go straight through. */
  async #drain(sink: ByteSink): Promise<void> {
    for (let waiting = this.#waiting ?? []; waiting.length > 0; waiting = this.#waiting ?? []) {
      this.#waiting = [];
      for (const chunk of joinedChunks(waiting)) {
        if (!(await sink.write(chunk))) this.#end();
        if (this.#isOver && this.#waiting === undefined) return;
      }
    }
    this.#waiting = undefined;
  }

  #send(line: Uint8Array): void {
    if (this.#isOver) return;
    if (this.#sink === undefined) {
      this.#waiting?.push(line);
      return;
    }
    void this.#sink.write(line);
    // Whoever cannot keep up starts anew, rather than being fed from unbounded memory or missing events.
    if (this.#sink.bufferedBytes > this.#endpoint.limits.watchBufferBytes) this.#end();
  }

  /** Source: k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go (nextBookmarkTime) */
  #scheduleBookmarks(timeoutMs: number): Disposable {
    const { scheduler, clock } = this.#endpoint.runtime;
    const last = clock.elapsed() + timeoutMs - LAST_BOOKMARK_LEAD_MS;
    let next: Disposable | undefined;
    let sent = "";
    const scheduleNext = (): void => {
      const untilLast = last - clock.elapsed();
      next = untilLast <= 0 ? undefined : scheduler.schedule(Math.min(BOOKMARK_INTERVAL_MS, untilLast), send);
    };
    const send = (): void => {
      const progress = String(this.#progress);
      if (progress !== "" && progress !== sent) this.#send(this.#encoder.bookmark(progress, false));
      sent = progress;
      scheduleNext();
    };
    scheduleNext();
    return { [Symbol.dispose]: () => next?.[Symbol.dispose]() };
  }

  #end(): void {
    this.#isOver = true;
    this.#subscription?.[Symbol.dispose]();
    this.#finish?.();
  }
}

function* joinedChunks(lines: readonly Uint8Array[]): Iterable<Uint8Array> {
  let chunk: Uint8Array[] = [];
  let size = 0;
  for (const line of lines) {
    chunk.push(line);
    size += line.length;
    if (size < CHUNK_BYTES) continue;
    yield Buffer.concat(chunk);
    chunk = [];
    size = 0;
  }
  if (chunk.length > 0) yield Buffer.concat(chunk);
}

const watchFailure = (cause: Error): ApiError =>
  new ApiError({ code: 500, reason: "InternalError", message: "the watch cannot be continued", cause });

// Serves the requests of a cluster thread: responses go back as one message, streams in parts of which the front takes so many at a time.

import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import { LongRunningRequests } from "@postern/apiserver/authorization/long-running-requests";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { createLongWork, type LongWork, WorkParts } from "@postern/apiserver/limits/long-work";
import type { WorkThreads } from "@postern/apiserver/limits/work-threads";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { ApiResponse, ByteSink } from "@postern/apiserver/transport/api-response";
import {
  type BacklogLimits,
  type ConnectionBacklog,
  createWatchBacklog,
} from "@postern/apiserver/transport/watch-backlog";
import type {
  FrontCalls,
  FrontNotes,
  RequestMessage,
  ResponseMessage,
  ThreadCalls,
  ThreadNotes,
} from "./cluster-methods.ts";
import { type CallHandlers, type Link, type NoteHandlers, Transferred, type WorkMark } from "./link.ts";
import { createRemoteContext, type RemoteContext } from "./remote-request.ts";
import { RemoteSocket } from "./remote-socket.ts";
import { copyOf } from "./wire-bytes.ts";
import { decodeError, encodeError } from "./wire-errors.ts";

export type RequestServer = Disposable & {
  readonly calls: Pick<CallHandlers<ThreadCalls>, "request">;
  readonly notes: Pick<NoteHandlers<ThreadNotes>, "run" | "taken" | "halt" | "socketData" | "socketClosed">;
};

export type RequestServerDeps = {
  readonly runtime: Runtime;
  readonly front: () => Link<FrontCalls, FrontNotes>;
  readonly mark: WorkMark;
  readonly workThreads: WorkThreads;
  readonly backlog: BacklogLimits;
  /** Enters the work for the cluster; undefined for one that does not run here. */
  readonly handlerOf: (uid: string) => ClusterHandler | undefined;
};

export type ClusterHandler = {
  /** Long work of all clients of the project is one lane. */
  readonly lane: string;
  handle(context: RequestContext): Promise<ApiResponse>;
};

/** Bytes of one stream that are on their way. */
const WINDOW = 64 * 1024;
/** Above this sum, each stream has one part on its way. */
const ALL_WINDOWS = 8 << 20;

type Served = {
  readonly abort: AbortController;
  stream: RemoteSink | undefined;
  socket: RemoteSocket | undefined;
  run: (() => void) | undefined;
};

export function createRequestServer(deps: RequestServerDeps): RequestServer {
  const { runtime, front, mark, handlerOf } = deps;
  const served = new Map<number, Served>();
  const openRequests = new LongRunningRequests(runtime);
  const longWork = createLongWork(runtime.clock, deps.workThreads, () => front().note("overBudget", undefined));
  const backlog = createWatchBacklog(deps.backlog);
  const connections = new Map<number, { readonly backlog: ConnectionBacklog; requests: number }>();
  const windows = { bytes: 0 };
  let lastId = 0;

  function connectionOf(id: number): { readonly backlog: ConnectionBacklog; requests: number } {
    const known = connections.get(id) ?? { backlog: backlog.connection(), requests: 0 };
    connections.set(id, known);
    return known;
  }

  async function serve(message: RequestMessage, onCancel: (cancel: (reason: unknown) => void) => void) {
    const { request, uid, connection: connectionId } = message;
    const handler = handlerOf(uid);
    if (handler === undefined) throw serviceUnavailableError("the virtual cluster has been stopped");
    const abort = new AbortController();
    const entry: Served = { abort, stream: undefined, socket: undefined, run: undefined };
    served.set(request, entry);
    onCancel((reason) => abort.abort(reason));
    const connection = connectionOf(connectionId);
    connection.requests++;
    const open = message.has.open ? openRequests.begin((reason) => abort.abort(reason)) : undefined;
    const done = (): void => {
      served.delete(request);
      open?.[Symbol.dispose]();
      if (--connection.requests === 0) connections.delete(connectionId);
    };
    const work = new MarkedWork(longWork, mark);
    work.enter(handler.lane);
    const remote = createRemoteContext(message, {
      front: front(),
      backlog: connection.backlog,
      upgrade:
        message.upgrade === undefined
          ? undefined
          : {
              protocol: message.upgrade,
              accept() {
                const socket = new RemoteSocket(request, front());
                entry.socket = socket;
                front().note("accept", { request });
                return { socket, head: new Uint8Array(0) };
              },
            },
      work,
      open,
      abort,
      nextId: () => ++lastId,
    });
    try {
      const response = await handler.handle(remote.context);
      return messageOf(response, remote, entry, request, done);
    } catch (error) {
      front().note("audit", { request, calls: remote.takeAudit() });
      done();
      throw error;
    }
  }

  function messageOf(
    { status, headers, body }: ApiResponse,
    { context, takeAudit }: RemoteContext,
    entry: Served,
    request: number,
    done: () => void,
  ): ResponseMessage | Transferred<ResponseMessage> {
    const head = { status, headers, audit: takeAudit(), warnings: context.warnings.texts, isUpgraded: false };
    const end = (error?: unknown): void => {
      done();
      front().note("end", { request, error: error === undefined ? undefined : encodeError(error) });
    };
    if (body.type === "bytes") {
      done();
      if (typeof body.bytes === "string") return { ...head, bytes: body.bytes };
      const bytes = copyOf(body.bytes);
      return bytes.length < WINDOW ? { ...head, bytes } : new Transferred({ ...head, bytes }, [bytes.buffer]);
    }
    if (body.type === "upgraded") {
      body.done.then(() => end(), end);
      return { ...head, isUpgraded: true, bytes: undefined };
    }
    const sink = new RemoteSink(request, front(), windows);
    entry.stream = sink;
    entry.run = () => {
      entry.run = undefined;
      body
        .run(sink, entry.abort.signal)
        .then(() => end(), end)
        .finally(() => sink.end());
    };
    return { ...head, bytes: undefined };
  }

  return {
    calls: {
      request: (message, call) =>
        serve(message, (cancel) => {
          call.onCancel = cancel;
        }),
    },
    notes: {
      run: ({ request }) => served.get(request)?.run?.(),
      taken({ request, bytes }) {
        const entry = served.get(request);
        entry?.stream?.taken(bytes);
        entry?.socket?.taken();
      },
      halt({ request, reason }) {
        const entry = served.get(request);
        entry?.abort.abort(decodeError(reason));
        entry?.stream?.end();
        // A response that is not read is over; a stream that begins now sees that at once.
        entry?.run?.();
      },
      socketData: ({ request, bytes }) => served.get(request)?.socket?.received(bytes),
      socketClosed: ({ request }) => served.get(request)?.socket?.clientClosed(),
    },
    [Symbol.dispose]() {
      openRequests[Symbol.dispose]();
      for (const { abort } of served.values())
        abort.abort(serviceUnavailableError("the virtual cluster has been stopped"));
    },
  };
}

/** Sends the parts of a stream. Writers wait while too much is on its way. */
class RemoteSink implements ByteSink {
  readonly #request: number;
  readonly #front: Link<FrontCalls, FrontNotes>;
  readonly #all: { bytes: number };
  #sent = 0;
  #isOver = false;
  #waiting: ((isOpen: boolean) => void)[] = [];

  constructor(request: number, front: Link<FrontCalls, FrontNotes>, all: { bytes: number }) {
    this.#request = request;
    this.#front = front;
    this.#all = all;
  }

  get bufferedBytes(): number {
    return this.#sent;
  }

  write(chunk: Uint8Array | string): boolean | Promise<boolean> {
    if (this.#isOver) return false;
    const bytes = typeof chunk === "string" ? new Uint8Array(Buffer.from(chunk)) : copyOf(chunk);
    if (bytes.length === 0) return true;
    this.#sent += bytes.length;
    this.#all.bytes += bytes.length;
    this.#front.note("chunk", { request: this.#request, bytes }, bytes.length < WINDOW / 4 ? [] : [bytes.buffer]);
    if (this.#hasRoom()) return true;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  taken(bytes: number): void {
    this.#sent -= bytes;
    this.#all.bytes -= bytes;
    if (!this.#hasRoom()) return;
    this.#release(true);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#all.bytes -= this.#sent;
    this.#sent = 0;
    this.#release(false);
  }

  #hasRoom(): boolean {
    return this.#sent === 0 || (this.#sent < WINDOW && this.#all.bytes < ALL_WINDOWS);
  }

  #release(isOpen: boolean): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve(isOpen);
  }
}

/** Work that continues for its cluster after it has waited. */
class MarkedWork extends WorkParts {
  readonly #mark: WorkMark;

  constructor(work: LongWork, mark: WorkMark) {
    super(work);
    this.#mark = mark;
  }

  override pause(client: string): Promise<void> | undefined {
    const waiting = super.pause(client);
    return waiting && this.#marked(waiting);
  }

  override nextTurn(client: string): Promise<void> {
    return this.#marked(super.nextTurn(client));
  }

  override runInThread(...work: Parameters<WorkParts["runInThread"]>): ReturnType<WorkParts["runInThread"]> {
    const done = super.runInThread(...work);
    return done && this.#marked(done);
  }

  #marked<T>(waiting: Promise<T>): Promise<T> {
    const mark = this.#mark.save();
    const restore = (): void => this.#mark.restore(mark);
    return waiting.finally(restore);
  }
}

// Passes requests on to a cluster thread: the front keeps what it has decided, and serves what the thread asks for the request.

import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { RequestHeaders } from "@postern/apiserver/transport/api-request";
import { type ApiResponse, type ByteSink, PeerFault } from "@postern/apiserver/transport/api-response";
import type {
  AuditCall,
  CredentialMessage,
  FrontCalls,
  FrontNotes,
  RequestMessage,
  ResponseMessage,
  ThreadCalls,
  ThreadNotes,
} from "./cluster-methods.ts";
import { ForwardedSocket } from "./forwarded-socket.ts";
import type { CallHandlers, Link, NoteHandlers } from "./link.ts";
import { copyOf } from "./wire-bytes.ts";
import { decodeError, encodeError } from "./wire-errors.ts";

type Thread = Pick<Link<ThreadCalls, ThreadNotes>, "call" | "note">;

export type RequestForwarder = {
  forward(uid: string, context: RequestContext, user: UserInfo): Promise<ApiResponse>;
  readonly calls: Pick<CallHandlers<FrontCalls>, "body" | "authorize" | "narrowRules" | "takeTurn" | "outside">;
  readonly notes: Pick<
    NoteHandlers<FrontNotes>,
    "chunk" | "end" | "accept" | "closeSocket" | "audit" | "endTurn" | "inside"
  >;
  /** The thread has ended: watches end as if their time was up, and other streams are cut. */
  ended(): void;
};

type Forwarded = {
  readonly context: RequestContext;
  stream: ForwardedStream | undefined;
  socket: ForwardedSocket | undefined;
  /** Numbers of the turns that it holds. */
  readonly turns: Set<number>;
};

/** Numbers of connections, shared by all threads. */
const connections = new WeakMap<object, number>();
let lastConnection = 0;

export function createRequestForwarder(thread: () => Thread): RequestForwarder {
  const forwarded = new Map<number, Forwarded>();
  const turns = new Map<number, Disposable>();
  const insides = new Map<number, () => void>();
  let lastRequest = 0;
  let lastTurn = 0;

  /** Throws for a request that has ended meanwhile. */
  function contextOf(request: number): RequestContext {
    const found = forwarded.get(request);
    if (found === undefined) throw new Error("the request has ended");
    return found.context;
  }

  function finish(request: number): void {
    for (const id of forwarded.get(request)?.turns ?? []) endTurn(id);
    forwarded.delete(request);
  }

  function endTurn(id: number): void {
    turns.get(id)?.[Symbol.dispose]();
    turns.delete(id);
  }

  function responseOf(request: number, entry: Forwarded, message: ResponseMessage): ApiResponse {
    const { status, headers, bytes } = message;
    const { context } = entry;
    record(context, message.audit);
    for (const text of message.warnings) context.warnings.add(text);
    if (bytes !== undefined) {
      finish(request);
      return { status, headers, body: { type: "bytes", bytes } };
    }
    if (message.isUpgraded) {
      const { socket } = entry;
      const done = socket?.done ?? Promise.resolve();
      return { status, headers, body: { type: "upgraded", done: done.finally(() => finish(request)) } };
    }
    const stream = new ForwardedStream(request, context, thread());
    entry.stream = stream;
    return {
      status,
      headers,
      body: { type: "stream", run: (sink, signal) => stream.run(sink, signal).finally(() => finish(request)) },
    };
  }

  return {
    async forward(uid, context, user) {
      const request = ++lastRequest;
      const entry: Forwarded = { context, stream: undefined, socket: undefined, turns: new Set() };
      forwarded.set(request, entry);
      try {
        const message = await thread().call("request", messageOf(uid, request, context, user), {
          signal: context.signal,
        });
        return responseOf(request, entry, message);
      } catch (error) {
        finish(request);
        throw error;
      }
    },
    calls: {
      async body({ request, limitBytes }) {
        return copyOf(await contextOf(request).request.body(limitBytes));
      },
      async authorize({ request, attributes }) {
        const { outerAuthorizer, credential } = contextOf(request);
        const decision = await outerAuthorizer?.authorize({ ...attributes, credential });
        if (decision === undefined) return { verdict: "no-opinion", reason: "" };
        // An authorizer may say more, which is not needed there.
        return { verdict: decision.verdict, reason: decision.reason };
      },
      async narrowRules({ request, rules, namespace }) {
        const context = contextOf(request);
        return (await context.outerAuthorizer?.narrowRules(rules, namespace, context)) ?? rules;
      },
      async takeTurn({ request }) {
        const entry = forwarded.get(request);
        const turn = await contextOf(request).takeTurn?.();
        const id = ++lastTurn;
        if (turn === undefined || entry === undefined) return id;
        if (!forwarded.has(request)) {
          turn[Symbol.dispose]();
          return id;
        }
        entry.turns.add(id);
        turns.set(id, turn);
        return id;
      },
      async outside({ request, id }) {
        await contextOf(request).outside?.(() => new Promise<void>((resolve) => insides.set(id, resolve)));
        return undefined;
      },
    },
    notes: {
      chunk({ request, bytes }) {
        const entry = forwarded.get(request);
        if (entry?.socket === undefined) entry?.stream?.add(bytes);
        else entry.socket.write(bytes);
      },
      end({ request, error }) {
        const entry = forwarded.get(request);
        entry?.stream?.end(error && decodeError(error));
        entry?.socket?.end(error && decodeError(error));
      },
      accept({ request }) {
        const entry = forwarded.get(request);
        const upgrade = entry?.context.request.upgrade;
        if (entry !== undefined && upgrade !== undefined) {
          entry.socket = new ForwardedSocket(request, entry.context, upgrade.accept(), thread());
        }
      },
      closeSocket: ({ request }) => forwarded.get(request)?.socket?.destroy(),
      audit({ request, calls }) {
        const found = forwarded.get(request);
        if (found !== undefined) record(found.context, calls);
      },
      endTurn: ({ id }) => endTurn(id),
      inside({ id }) {
        insides.get(id)?.();
        insides.delete(id);
      },
    },
    ended() {
      for (const { stream, socket } of [...forwarded.values()]) {
        stream?.threadEnded();
        socket?.destroy();
      }
      for (const resolve of insides.values()) resolve();
      insides.clear();
    },
  };
}

function record({ audit }: RequestContext, calls: readonly AuditCall[]): void {
  // The thread has collected the calls of the same interface.
  for (const [method, ...args] of calls)
    (audit[method] as ((...args: readonly unknown[]) => void) | undefined)?.(...args);
}

function messageOf(uid: string, request: number, context: RequestContext, user: UserInfo): RequestMessage {
  const { request: outer, info, audit } = context;
  const { method, path, basePath, query, requestUri, httpVersion, remoteAddress, host, upgrade } = outer;
  return {
    uid,
    request,
    method,
    path,
    basePath,
    query: query.size === 0 ? "" : query.toString(),
    requestUri,
    headers: withoutCredentials(outer.headers),
    httpVersion,
    remoteAddress,
    host,
    connection: connectionOf(outer.connection),
    upgrade: upgrade?.protocol,
    info,
    user,
    caller: context.caller,
    credential: credentialOf(context),
    has: {
      outerAuthorizer: context.outerAuthorizer !== undefined,
      open: context.open !== undefined,
      takeTurn: context.takeTurn !== undefined,
      outside: context.outside !== undefined,
    },
    isLongRunning: context.isLongRunning,
    receivedAt: context.receivedAt,
    auditId: audit.auditId,
    keepsBodies: audit.keepsBodies === true,
  };
}

/** The thread gets no value that opens anything. */
function withoutCredentials({ authorization: _, cookie: __, ...headers }: RequestHeaders): RequestHeaders {
  return headers;
}

/** A read makes no credential that goes back to this one. */
function credentialOf({ credential, request: { method } }: RequestContext): CredentialMessage | undefined {
  if (credential === undefined) return undefined;
  const { id, annotations } = credential;
  return { id, annotations, lineage: method === "GET" ? undefined : credential.lineage?.() };
}

function connectionOf(connection: object | undefined): number {
  if (connection === undefined) return ++lastConnection;
  const known = connections.get(connection) ?? ++lastConnection;
  connections.set(connection, known);
  return known;
}

/** A stream of the thread, on its way to the client. */
class ForwardedStream {
  readonly #request: number;
  readonly #context: RequestContext;
  readonly #thread: Thread;
  readonly #chunks: Uint8Array[] = [];
  readonly #over: Promise<void>;
  #settle: { resolve(): void; reject(error: Error): void } | undefined;
  #sink: ByteSink | undefined;
  #isPumping = false;
  #isOver = false;
  #ending: { readonly error: Error | undefined } | undefined;

  constructor(request: number, context: RequestContext, thread: Thread) {
    this.#request = request;
    this.#context = context;
    this.#thread = thread;
    this.#over = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // Awaited in `run`.
    this.#over.catch(() => undefined);
  }

  async run(sink: ByteSink, signal: AbortSignal): Promise<void> {
    this.#sink = sink;
    const ended = AbortSignal.any([signal, this.#context.signal]);
    const halt = (): void => this.#halt(ended.reason);
    ended.addEventListener("abort", halt, { once: true });
    if (ended.aborted) halt();
    else this.#thread.note("run", { request: this.#request });
    void this.#pump(sink);
    try {
      await this.#over;
    } finally {
      ended.removeEventListener("abort", halt);
    }
  }

  add(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.#chunks.push(bytes);
    if (this.#sink !== undefined) void this.#pump(this.#sink);
  }

  end(error: Error | undefined): void {
    this.#ending ??= { error };
    if (!this.#isPumping) this.#finish();
  }

  threadEnded(): void {
    const isWatch = this.#context.info.verb === "watch";
    this.end(isWatch ? undefined : new PeerFault("the thread of the virtual cluster ended"));
    if (this.#sink === undefined) this.#finish();
  }

  async #pump(sink: ByteSink): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      for (let chunk = this.#chunks.shift(); chunk !== undefined; chunk = this.#chunks.shift()) {
        // The thread asks for the rights inside, and the front for those that lead there.
        if (this.#isOver || this.#context.open?.isAllowed() === false) return this.#halt(undefined);
        const written = sink.write(chunk);
        const isOpen = typeof written === "boolean" ? written : await written;
        if (!isOpen) return this.#halt(new PeerFault("the client has gone"));
        this.#thread.note("taken", { request: this.#request, bytes: chunk.length });
      }
    } catch (error) {
      this.#ending ??= { error: error instanceof Error ? error : new Error(String(error)) };
    } finally {
      this.#isPumping = false;
    }
    if (this.#ending !== undefined) this.#finish();
  }

  #halt(reason: unknown): void {
    if (this.#isOver) return;
    this.#thread.note("halt", {
      request: this.#request,
      reason: encodeError(reason ?? serviceUnavailableError("ended")),
    });
    this.#chunks.length = 0;
    this.#ending = { error: undefined };
    this.#finish();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const error = this.#ending?.error;
    if (error === undefined) this.#settle?.resolve();
    else this.#settle?.reject(error);
  }
}

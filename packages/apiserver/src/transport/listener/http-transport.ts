// A TLS listener: accepts connections, reads ApiRequests and writes ApiResponses.

import type { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  constants,
  type Http2SecureServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import { createEventLoopBudget } from "../../limits/event-loop-budget.ts";
import { sourceOf } from "../../limits/rate-limiter.ts";
import { createRequestQueue, type RequestQueue } from "../../limits/request-queue.ts";
import { createFaults, type Faults, guarded } from "../../logging/faults.ts";
import { createBodyReadThrottle } from "../backpressure/body-read-throttle.ts";
import { type BusyReaders, createBusyReaders } from "../backpressure/busy-readers.ts";
import { createReadThrottle } from "../backpressure/read-throttle.ts";
import { createUnreadAnswers, type Reader } from "../backpressure/unread-answers.ts";
import { describeConnection } from "../connections/connection.ts";
import { type ConnectionGate, DROP_MESSAGES, installConnectionGate, peerOf } from "../connections/connection-gate.ts";
import { createSessionEnds, endDeadSession, endSession } from "../connections/session-shutdown.ts";
import type { Exchange } from "../exchange/exchange.ts";
import {
  createShortAnswers,
  type Http1Options,
  http1Exchange,
  http1UpgradeExchange,
} from "../exchange/http1-exchange.ts";
import { http2Exchange } from "../exchange/http2-exchange.ts";
import { asksForTunnel, http2TunnelExchange } from "../exchange/http2-tunnel.ts";
import { refuseMalformedRequest } from "../exchange/malformed-request.ts";
import { type ApiHandler, type ServeOptions, serveExchange } from "../exchange/serve-exchange.ts";
import { unknownMethodRequest } from "../exchange/unknown-method-request.ts";
import { bytesOfChain } from "../tls/certificate-chain.ts";
import { createTlsServer, secureContextOf, type TlsCredentials } from "../tls/secure-server.ts";
import {
  DEFAULT_TRANSPORT_LIMITS,
  MAX_PIPELINED,
  OPENED_IN_A_TURN,
  SETTINGS_IN_A_TURN,
  type TransportLimits,
} from "../transport-limits.ts";
import { createWatchBacklog, type WatchBacklog } from "../watch-backlog.ts";
import { Departures } from "./departures.ts";
import type { HttpTransportOptions } from "./http-transport-options.ts";
import { type ListenAddress, listenOn } from "./listen-on.ts";
import type { SocketState } from "./socket-state.ts";
import { installListeners } from "./transport-listeners.ts";

export class HttpTransport {
  /** Ends connections behind their requests. */
  readonly departures: Departures;
  readonly #options: HttpTransportOptions;
  readonly #limits: TransportLimits;
  readonly #server: Http2SecureServer;
  readonly #gate: ConnectionGate;
  readonly #backlog: WatchBacklog;
  readonly #faults: Faults;
  #serve: ServeOptions;
  readonly #http1: Http1Options;
  readonly #stopping = new AbortController();
  readonly #sockets = new Map<Duplex, SocketState>();
  readonly #sessions = new Map<Http2Session, SocketState>();
  /** A session does not give its own socket away: what both know is the other end. */
  readonly #byPeer = new Map<string, SocketState>();
  readonly #exchanges = new Set<Exchange>();
  readonly #arrivals: RequestQueue;
  readonly #reading = createReadThrottle();
  readonly #busyReaders: BusyReaders;
  readonly #ends = createSessionEnds();
  #closed: Promise<void> | undefined;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_TRANSPORT_LIMITS, ...options.limits };
    const { handler, logger, clock, scheduler, trustedProxies, onConnectionDropped: onDrop } = options;
    this.#faults = options.faults ?? createFaults({ logger });
    this.#arrivals = createRequestQueue(options.eventLoopBudget ?? createEventLoopBudget(clock));
    const { signal: serverStopping } = this.#stopping;
    const reading = { limits: this.#limits, scheduler, bodyThrottle: createBodyReadThrottle(), serverStopping };
    this.#serve = {
      ...reading,
      handler,
      logger,
      faults: this.#faults,
      unread: createUnreadAnswers(this.#limits.unreadAnswerBytes, clock, options.onUnreadCut),
      onPending: (exchange) => {
        this.#exchanges.add(exchange);
        exchange.onClose(() => this.#exchanges.delete(exchange));
      },
    };
    this.#http1 = { ...reading, answers: createShortAnswers() };
    this.#server = createTlsServer(options.tls, this.#limits, options.ticketKeys);
    this.departures = new Departures(this.#server, this.#sockets, options);
    this.#backlog = createWatchBacklog(this.#limits.watchBacklog);
    this.#busyReaders = createBusyReaders(scheduler);
    this.#gate = installConnectionGate(this.#server, {
      ...this.#serve,
      faults: this.#faults,
      trustedProxies,
      clock,
      share: options.connectionShare,
      onDrop,
    });
    installListeners(this.#server, {
      logger,
      faults: this.#faults,
      onTlsHandshakeError: () => options.onTlsHandshakeError?.(),
      onSocket: (socket) => this.#addSocket(socket),
      onClientError: (error, socket) => this.#onClientError(error, socket),
      onSession: (session) => this.#addSession(session),
      onStream: (stream, headers, rawHeaders) => this.#onStream(stream, headers, rawHeaders),
      onRequest: (request, response) => this.#onRequest(request, response),
      onUpgrade: (request, socket, head) => this.#onUpgrade(request, socket, head),
    });
  }

  /** Further requests have this handler. */
  serve(handler: ApiHandler): void {
    this.#serve = { ...this.#serve, handler };
  }

  /** Bytes that wait for the clients of watches. */
  get backlog(): Pick<WatchBacklog, "bytes"> {
    return this.#backlog;
  }

  /** Aborted when `close` is called. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Resolves with the actual address; rejects with AddressInUseError or another ListenError. */
  async listen(): Promise<ListenAddress> {
    return await listenOn(this.#server, this.#options);
  }

  /** New handshakes use these from now on; open connections are left alone. Throws when they do not fit together. */
  setCredentials(tls: TlsCredentials): void {
    this.#server.setSecureContext(secureContextOf(tls, this.#options.ticketKeys));
  }

  /**
   * Stops accepting, tells HTTP/2 clients to go elsewhere, and signals `serverStopping`, on which long-running requests end. Requests under way have `drainMs` to finish; what is left is cut. Resolves when every connection is closed.
   */
  close({ drainMs }: { readonly drainMs: number }): Promise<void> {
    this.#closed ??= this.#close(drainMs);
    return this.#closed;
  }

  async #close(drainMs: number): Promise<void> {
    const closed = this.departures.stopListening();
    // The rest of its end: it looks for slow requests no longer.
    this.#server.close(() => undefined);
    this.#stopping.abort(serviceUnavailableError("the server is shutting down"));
    this.#gate.close();
    for (const session of this.#sessions.keys()) session.close();
    for (const { socket, active } of this.#sockets.values()) {
      if (active === 0 && socket.alpnProtocol !== "h2") socket.destroy();
    }
    const deadline = this.#options.scheduler.schedule(drainMs, () => this.#cutEverything());
    await closed;
    deadline[Symbol.dispose]();
  }

  #cutEverything(): void {
    for (const exchange of this.#exchanges) exchange.cut();
    for (const session of this.#sessions.keys()) session.destroy();
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  #addSocket(socket: TLSSocket): void {
    const { scheduler, trustedProxies } = this.#options;
    const address = this.#gate.addressOf(socket);
    const backlog = this.#backlog.connection();
    const reader = (): Reader => state;
    let known: string | undefined;
    const know = (user: string): void => {
      if (user === known) return;
      known = user;
      state.client = user;
      state.isKnown = true;
      state.reading?.know(user);
      this.#gate.know(state, user);
    };
    const state: SocketState = {
      socket,
      client: sourceOf(address),
      isKnown: false,
      connection: describeConnection(socket, { remoteAddress: address, trustedProxies, know, reader, backlog }),
      active: 0,
      isLeaving: this.departures.isRetiring,
      isQuiet: false,
      session: undefined,
      reading: undefined,
      remoteAddress: socket.remoteAddress ?? "",
      remotePort: socket.remotePort ?? 0,
      address,
      onAnswered: guarded(this.#faults, "transport", () => {
        state.active -= 1;
        // An idle connection would hold up the shutdown.
        if (this.#stopping.signal.aborted && state.active === 0) socket.end();
      }),
      isBusy: () => state.active > 0,
      certificateBytes: () => bytesOfChain(socket),
      end: (reason) => {
        if (state.session === undefined) socket.destroy();
        else endSession(state.session, socket, DROP_MESSAGES[reason], scheduler);
        // The current packet of a flood is still processed, and nothing further is read.
        if (reason === "flood") state.reading?.stop();
      },
    };
    // Each pipelined request waits for its end.
    socket.setMaxListeners(0);
    const peer = peerOf(socket);
    this.#sockets.set(socket, state);
    this.#byPeer.set(peer, state);
    this.#gate.enter(state);
    // Before Node, which ends a connection that its client has ended, and answers nothing any more.
    this.#listen(socket, "end", this.#http1.answers.write, () => socket.destroy());
    this.#listen(socket, "close", () => {
      this.#sockets.delete(socket);
      this.#byPeer.delete(peer);
      this.#gate.leave(state);
      state.reading?.[Symbol.dispose]();
    });
  }

  #addSession(session: ServerHttp2Session): void {
    const state = this.#byPeer.get(peerOf(session.socket));
    if (state === undefined) return void session.destroy();
    state.session = session;
    state.reading = this.#reading.join(state.socket);
    this.#sessions.set(session, state);
    this.#ends.add(session, state.socket, () => state.active);
    session.on("error", (error) => this.#options.logger.debug({ error }, "HTTP/2 session failed"));
    this.#listen(session, "close", () => this.#sessions.delete(session));
    endDeadSession(session, state.socket, this.#options.scheduler, this.#limits.pingMs);
    const user = () => (state.isKnown ? state.client : undefined);
    const busyReader = this.#busyReaders.join({ socket: state.socket, user, end: () => state.end("flood") });
    this.#listen(state.socket, "close", busyReader[Symbol.dispose]);
    this.#listen(session, "remoteSettings", () => {
      if (state.reading?.set() === SETTINGS_IN_A_TURN + 1) state.end("flood");
    });
    if (this.#stopping.signal.aborted || state.isLeaving) session.close();
  }

  #onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    // Without a listener a reset by the client would end the process.
    stream.on("error", ignore);
    const state = stream.session === undefined ? undefined : this.#sessions.get(stream.session);
    if (state === undefined) return void stream.destroy();
    if (this.#opensTooMany(state)) {
      this.#options.onTakenBack?.();
      state.end("flood");
      return;
    }
    state.active += 1;
    this.#listen(stream, "close", () => {
      state.active -= 1;
      if (!stream.headersSent) state.reading?.lost();
    });
    // Once everything has been read that came with it: of requests that were cancelled in the same breath none is worked on.
    this.#arrivals.add(
      state,
      this.#guardBegin(
        () => {
          state.reading?.started();
          return this.#beginStream(stream, headers, rawHeaders, state);
        },
        () => stream.destroy(),
      ),
    );
  }

  /** Before any of them is answered a client can have opened as many as it may have, unless it takes them back at once. */
  #opensTooMany({ reading, isKnown }: SocketState): boolean {
    const { maxConcurrentStreams } = this.#limits;
    // A new client opens at most as many as it may, and has had no answer yet to take any back for.
    return (reading?.opened() ?? 0) > (isKnown ? OPENED_IN_A_TURN * maxConcurrentStreams : maxConcurrentStreams);
  }

  #beginStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    state: SocketState,
  ): boolean {
    if (stream.destroyed || stream.closed || stream.aborted) {
      this.#options.onTakenBack?.();
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      return true;
    }
    const { connection } = state;
    const isTunnel = asksForTunnel(headers);
    if (!isTunnel) this.departures.leaveByChance(state);
    const exchange = isTunnel
      ? http2TunnelExchange(stream, headers, rawHeaders, connection, this.#options.random)
      : http2Exchange(stream, headers, rawHeaders, connection);
    return serveExchange(exchange, this.#serve);
  }

  /** A client of HTTP/1.1 may close its side behind the request, and takes nothing back. */
  #beginAtOnce(exchange: Exchange, state: SocketState): void {
    const begin = (): boolean => {
      if (!exchange.isClosed()) return serveExchange(exchange, this.#serve);
      exchange.cut();
      return true;
    };
    this.#arrivals.addAtOnce(
      state,
      this.#guardBegin(begin, () => exchange.cut()),
    );
  }

  /** `end` ends what the listener works on, if it fails. */
  #listen(emitter: EventEmitter, event: string, work: () => unknown, end: () => void = () => undefined): void {
    emitter.on(event, guarded(this.#faults, "transport", work, end));
  }

  /** An error ends the stream or exchange; nothing of it is left to wait for. */
  #guardBegin(begin: () => boolean, end: () => void): () => boolean {
    return () => {
      try {
        return begin();
      } catch (error) {
        this.#faults.report(error, { component: "transport" });
        guarded(this.#faults, "transport", end)();
        return true;
      }
    };
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const state = this.#sockets.get(socket);
    if (state === undefined || state.active >= MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    state.active += 1;
    state.isQuiet = false;
    if (state.isLeaving) response.shouldKeepAlive = false;
    response.on("close", state.onAnswered);
    this.#beginAtOnce(http1Exchange(request, response, state.connection, this.#http1), state);
  }

  #onClientError(error: Error, socket: Duplex): void {
    const state = this.#sockets.get(socket);
    // Failed handshakes come this way too: no request is there to answer.
    if (state === undefined) {
      socket.destroy();
      return;
    }
    const request = state.active > 0 ? undefined : unknownMethodRequest(error, socket);
    if (request === undefined) {
      refuseMalformedRequest(error, socket, state.active > 0);
      return;
    }
    state.active += 1;
    const { upgrade: _, ...exchange } = http1UpgradeExchange(request, socket, new Uint8Array(0), state.connection);
    this.#beginAtOnce(exchange, state);
  }

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Uint8Array): void {
    // Node hands the socket over without a listener for errors.
    socket.on("error", ignore);
    // For a request with a body, Node 26 gives a stream in front of the socket.
    const state = this.#sockets.get(request.socket);
    if (state === undefined) {
      socket.destroy();
      return;
    }
    state.active += 1;
    this.#beginAtOnce(http1UpgradeExchange(request, socket, head, state.connection), state);
  }
}

export const createHttpTransport = (options: HttpTransportOptions): HttpTransport => new HttpTransport(options);

const ignore = (): void => undefined;

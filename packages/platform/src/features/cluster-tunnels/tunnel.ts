// One tunnel: an HTTP/2 connection over a socket that an agent opened, of which this server is the client.

import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { Duplex } from "node:stream";
import { API_SERVER_AUTHORITY, TUNNEL_PING } from "@postern/api/cluster-tunnel";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import { Http2StreamSocket } from "@postern/client/transport/http2-stream-socket";
import { createStreamWindows } from "@postern/client/transport/stream-windows";
import { LAST_REQUEST } from "../../foundation/upstream/upstream-dialer.ts";

/** The agent at the other end, as it said. */
export type TunnelAgent = { readonly id: string; readonly version: string };

export type Tunnel = Disposable & {
  readonly agent: TunnelAgent;
  /** Milliseconds of a ping and its answer, as they were when they last changed much; undefined before the first. */
  readonly roundTripMs: number | undefined;
  /** Streams that are open. */
  readonly streams: number;
  /** False from the moment when the agent takes no new streams. */
  readonly isUsable: boolean;
  /** Opens a stream to the API server. Calls back once. */
  open(callback: (...result: [error: null, socket: Duplex] | [error: Error, socket: null]) => void): {
    /** Calls back with the error, where it has not called back yet. */
    cancel(error: Error): void;
  };
  /** Sends a request that the agent answers itself. Resolves with the status. The tunnel of an agent that does not answer is closed. */
  ask(method: string, path: string, signal: AbortSignal): Promise<number>;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
};

export type TunnelDeps = {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly agent: TunnelAgent;
  /** Called when the round trip has changed much, and when the agent begins to leave. */
  readonly onChange: () => void;
};

type WaitingStream = { readonly begin: () => void; readonly fail: (error: Error) => void };

/** Bytes on the way, or here unread: of one stream, so that a list of some megabytes takes a few round trips, and of all streams together. */
const STREAM_WINDOWS = { most: 512 << 10, least: 64 << 10, total: 16 << 20 };
/** The window of all streams together. Node gives it back as bytes arrive, whether or not they are read. */
const CONNECTION_WINDOW_BYTES = 16 << 20;
/** Node refuses new streams above it. Bytes that wait for their readers are bounded by the windows of the streams. */
const MAX_SESSION_MEMORY_MB = 128;
/** An agent answers before it does what it was asked for. */
const ASK_TIMEOUT_MS = 10_000;
/** The answer to a CONNECT has a status alone. */
const MAX_HEADER_LIST_BYTES = 4 << 10;
const MAX_HEADER_PAIRS = 16;
/** One that leaves gracefully says so twice. */
const MAX_GOAWAYS = 4;

/** The cluster is looked at again when its tunnels change: not with each ping. */
const SAME_ROUND_TRIP = { share: 0.25, milliseconds: 5 };

/** The round trip as it is shown, where it is `now` and was shown as `before`. */
export function steadyRoundTrip(now: number, before: number | undefined): number {
  if (before === undefined) return now;
  const { share, milliseconds } = SAME_ROUND_TRIP;
  return Math.abs(now - before) <= Math.max(milliseconds, before * share) ? before : now;
}

/** `head` came behind the request for the upgrade. The 101 has been written. */
export function openTunnel(socket: Duplex, head: Uint8Array, deps: TunnelDeps): Tunnel {
  const { clock, scheduler, agent, onChange } = deps;
  if (head.length > 0) socket.unshift(head);
  const session = connect("http://agent", {
    createConnection: () => socket,
    settings: {
      // The agent may open no stream here.
      enablePush: false,
      initialWindowSize: STREAM_WINDOWS.most,
      maxHeaderListSize: MAX_HEADER_LIST_BYTES,
    },
    maxHeaderListPairs: MAX_HEADER_PAIRS,
    maxSessionMemory: MAX_SESSION_MEMORY_MB,
    maxReservedRemoteStreams: 0,
  });
  const open = new Set<ClientHttp2Stream>();
  /** The sockets of the streams that have opened. */
  const sockets = new Set<Duplex>();
  /** Streams that begin once the agent has acknowledged that each of them may have less. */
  const waiting = new Set<WaitingStream>();
  const isUsable = (): boolean => !isLeaving && !session.closed && !session.destroyed;
  const beginWaiting = (): void => {
    for (const stream of waiting) {
      if (isUsable() && !windows.hasRoom(open.size)) return;
      waiting.delete(stream);
      if (isUsable()) stream.begin();
      else stream.fail(tunnelClosed());
    }
  };
  const windows = createStreamWindows(session, STREAM_WINDOWS, beginWaiting);
  let roundTripMs: number | undefined;
  let isLeaving = false;
  session.once("connect", () => {
    // A key may be revoked while the 101 is written.
    if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
  });
  session.on("error", ignore);
  // A client of HTTP/2 is pushed nothing: where something comes all the same, it is not read.
  session.on("stream", (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
  // Each of these costs far more than its bytes do, and agents send none: heads before the answer, and names of other servers.
  const refuse = (): void => session.destroy(new Error("the agent sends what was not asked for"));
  session.on("altsvc", refuse).on("origin", refuse);
  let goaways = 0;
  session.on("goaway", () => {
    if (++goaways > MAX_GOAWAYS) return refuse();
    if (isLeaving) return;
    isLeaving = true;
    for (const socket of sockets) socket.emit(LAST_REQUEST);
    beginWaiting();
    onChange();
  });
  const stopPings = pingRegularly(session, { clock, scheduler }, (milliseconds) => {
    const shown = steadyRoundTrip(milliseconds, roundTripMs);
    if (shown === roundTripMs) return;
    roundTripMs = shown;
    onChange();
  });
  const closed = new Promise<void>((resolve) => {
    session.once("close", () => {
      stopPings[Symbol.dispose]();
      beginWaiting();
      // Node leaves the socket of a session open that never began.
      socket.destroy();
      resolve();
    });
    socket.once("close", () => session.destroy());
  });

  const request = (
    headers: { readonly [name: string]: string },
    options: { readonly endStream: boolean },
  ): ClientHttp2Stream => {
    const stream = session.request(headers, options);
    stream.on("headers", refuse);
    open.add(stream);
    windows.adjust(open.size + waiting.size);
    stream.once("close", () => {
      open.delete(stream);
      windows.adjust(open.size + waiting.size);
      beginWaiting();
    });
    return stream;
  };

  return {
    agent,
    get roundTripMs() {
      return roundTripMs;
    },
    get streams() {
      return open.size + waiting.size;
    },
    get isUsable() {
      return isUsable();
    },
    open(callback) {
      let isSettled = false;
      let stream: ClientHttp2Stream | undefined;
      const fail = (error: Error): void => {
        if (isSettled) return;
        isSettled = true;
        callback(error, null);
      };
      const begin = (): void => {
        const begun = request({ ":method": "CONNECT", ":authority": API_SERVER_AUTHORITY }, { endStream: false });
        stream = begun;
        begun.on("error", fail);
        begun.once("close", () => fail(tunnelClosed()));
        begun.once("response", ({ ":status": status }) => {
          if (isSettled) return;
          if (status !== 200) {
            fail(new TunnelRefusedError(`the agent answered with ${status}`));
            begun.close(constants.NGHTTP2_CANCEL);
            return;
          }
          isSettled = true;
          const opened = new Http2StreamSocket(begun);
          sockets.add(opened);
          opened.once("close", () => sockets.delete(opened));
          callback(null, opened);
        });
      };
      const own: WaitingStream = { begin, fail };
      if (waiting.size === 0 && windows.hasRoom(open.size)) begin();
      else {
        waiting.add(own);
        windows.adjust(open.size + waiting.size);
      }
      return {
        cancel(error) {
          waiting.delete(own);
          fail(error);
          stream?.close(constants.NGHTTP2_CANCEL);
        },
      };
    },
    ask: (method, path, signal) =>
      new Promise((resolve, reject) => {
        const head = { ":method": method, ":path": path, ":authority": "agent", ":scheme": "http" };
        const stream = request(head, { endStream: true });
        const onAbort = (): void => stream.close(constants.NGHTTP2_CANCEL);
        signal.addEventListener("abort", onAbort, { once: true });
        // A controller waits for it. Another tunnel may be the one whose agent answers.
        const timer = scheduler.schedule(ASK_TIMEOUT_MS, () => session.destroy(silentAgent()));
        stream.on("error", reject);
        stream.once("close", () => {
          timer[Symbol.dispose]();
          signal.removeEventListener("abort", onAbort);
          reject(tunnelClosed());
        });
        stream.once("response", ({ ":status": status }) => {
          resolve(Number(status));
          // Nothing is expected behind the status.
          stream.close(constants.NGHTTP2_NO_ERROR);
        });
      }),
    closed,
    [Symbol.dispose]: () => session.destroy(),
  };
}

/** The agent did not open a stream to its API server. */
export class TunnelRefusedError extends Error {
  override readonly name = "TunnelRefusedError";
}

/** Destroys the session where no answer comes in time. */
function pingRegularly(
  session: ClientHttp2Session,
  { clock, scheduler }: Pick<TunnelDeps, "clock" | "scheduler">,
  onAnswer: (milliseconds: number) => void,
): Disposable {
  let timer: Disposable | undefined;
  const after = (milliseconds: number, work: () => void): void => {
    timer?.[Symbol.dispose]();
    timer = scheduler.schedule(milliseconds, work);
  };
  const ping = (): void => {
    if (session.destroyed) return;
    const begunAt = clock.elapsed();
    after(TUNNEL_PING.timeoutMs, () => session.destroy(silentAgent()));
    session.ping((error) => {
      if (error !== null || session.destroyed) return;
      onAnswer(clock.elapsed() - begunAt);
      after(TUNNEL_PING.intervalMs, ping);
    });
  };
  session.once("connect", ping);
  // The first answer has to come in time as well.
  after(TUNNEL_PING.timeoutMs, () => session.destroy(silentAgent()));
  return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}

const tunnelClosed = (): Error => new Error("the tunnel was closed");
const silentAgent = (): Error => new Error("the agent does not answer");
const ignore = (): void => undefined;

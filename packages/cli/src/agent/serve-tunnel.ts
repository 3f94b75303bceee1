// The agent's end of a tunnel: the server of HTTP/2 on a connection that the agent itself opened.

import { constants, performServerHandshake, type ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { AGENT_ROTATE_PATH, API_SERVER_AUTHORITY, TUNNEL_PING } from "@postern/api/cluster-tunnel";
import { Http2StreamSocket } from "@postern/client/transport/http2-stream-socket";
import { createStreamWindows } from "@postern/client/transport/stream-windows";

export type AgentTunnel = Disposable & {
  /** Says that no new stream may come, and closes the connection behind the last one. */
  drain(): void;
  readonly closed: Promise<void>;
};

export type ServeTunnelDeps = {
  /** Serves a connection to the API server. */
  readonly serve: (connection: Duplex) => void;
  /** The platform asks for the next key. */
  readonly onRotate: () => void;
};

/** Uploads and input that a pod does not read wait here. */
const STREAM_WINDOWS = { most: 1 << 20, least: 64 << 10, total: 8 << 20 };
const CONNECTION_WINDOW_BYTES = 16 << 20;
const MAX_STREAMS = 2_000;
const MAX_SESSION_MEMORY_MB = 256;

export function serveTunnel(socket: Duplex, { serve, onRotate }: ServeTunnelDeps): AgentTunnel {
  const session = performServerHandshake(socket, {
    settings: { initialWindowSize: STREAM_WINDOWS.most, maxConcurrentStreams: MAX_STREAMS, enablePush: false },
    maxSessionMemory: MAX_SESSION_MEMORY_MB,
  });
  session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
  session.on("error", ignore);
  const windows = createStreamWindows(session, STREAM_WINDOWS);
  let open = 0;
  session.on("stream", (stream, headers) => {
    stream.on("error", ignore);
    windows.adjust(++open);
    stream.once("close", () => windows.adjust(--open));
    const { ":method": method, ":authority": authority, ":path": path } = headers;
    if (method === "CONNECT" && authority === API_SERVER_AUTHORITY) {
      stream.respond({ ":status": 200 });
      serve(new Http2StreamSocket(stream));
    } else if (method === "POST" && path === AGENT_ROTATE_PATH) {
      answer(stream, 202);
      onRotate();
    } else answer(stream, method === "CONNECT" ? 403 : 404);
  });
  const closed = new Promise<void>((resolve) => {
    session.once("close", () => {
      stop();
      socket.destroy();
      resolve();
    });
    socket.once("close", () => session.destroy());
  });
  let timer: NodeJS.Timeout;
  const stop = (): void => clearTimeout(timer);
  const ping = (): void => {
    if (session.destroyed) return;
    timer = setTimeout(() => session.destroy(new Error("the platform does not answer")), TUNNEL_PING.timeoutMs);
    session.ping((error) => {
      if (error !== null || session.destroyed) return;
      clearTimeout(timer);
      timer = setTimeout(ping, TUNNEL_PING.intervalMs);
    });
  };
  ping();
  return {
    drain() {
      if (session.closed || session.destroyed) return;
      session.goaway(constants.NGHTTP2_NO_ERROR);
      session.close();
    },
    closed,
    [Symbol.dispose]: () => session.destroy(),
  };
}

const answer = (stream: ServerHttp2Stream, status: number): void =>
  stream.respond({ ":status": status }, { endStream: true });

const ignore = (): void => undefined;

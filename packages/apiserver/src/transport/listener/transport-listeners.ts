// Listens to the events of a TLS server, so that an error in a listener ends no more than the connection or stream it listens to.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2SecureServer, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { type Faults, guarded } from "../../logging/faults.ts";
import type { Logger } from "../../logging/logger.ts";

type TransportListeners = {
  readonly logger: Logger;
  readonly faults: Faults;
  onTlsHandshakeError(): void;
  onSocket(socket: TLSSocket): void;
  onClientError(error: Error, socket: Duplex): void;
  onSession(session: ServerHttp2Session): void;
  onStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void;
  onRequest(request: IncomingMessage, response: ServerResponse): void;
  onUpgrade(request: IncomingMessage, socket: Duplex, head: Uint8Array): void;
};

export function installListeners(server: Http2SecureServer, listeners: TransportListeners): void {
  const { logger, faults } = listeners;
  /** An error in a listener ends the connection or the stream that it listens to. */
  const guard = <Args extends readonly unknown[]>(
    work: (...args: Args) => void,
    onFault: (...args: Args) => void = () => undefined,
  ) => guarded(faults, "transport", work, onFault);
  server.on(
    "tlsClientError",
    guard(() => listeners.onTlsHandshakeError()),
  );
  const destroy = (socket: Duplex): void => void socket.destroy();
  server.prependListener(
    "secureConnection",
    guard((socket: TLSSocket) => listeners.onSocket(socket), destroy),
  );
  server.on(
    "clientError",
    guard(
      (error: Error, socket: Duplex) => listeners.onClientError(error, socket),
      (_error, socket) => destroy(socket),
    ),
  );
  server.on(
    "session",
    guard(
      (session: ServerHttp2Session) => listeners.onSession(session),
      (session) => session.destroy(),
    ),
  );
  server.on("sessionError", (error) => logger.debug({ error }, "HTTP/2 session failed"));
  // Node passes the raw headers too, which its types do not say.
  type StreamListener = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, raw: string[]) => void;
  const onStream: StreamListener = guard(
    (stream, headers, _flags, raw) => listeners.onStream(stream, headers, raw),
    (stream) => stream.destroy(),
  );
  server.on("stream", onStream as Parameters<typeof server.on>[1]);
  server.on(
    "request",
    guard(
      (request: IncomingMessage, response: ServerResponse) => listeners.onRequest(request, response),
      (request) => destroy(request.socket),
    ),
  );
  server.on(
    "upgrade",
    guard(
      (request: IncomingMessage, socket: Duplex, head: Uint8Array) => listeners.onUpgrade(request, socket, head),
      (_request, socket) => destroy(socket),
    ),
  );
}

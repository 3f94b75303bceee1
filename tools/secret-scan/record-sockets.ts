// Records connections that no HTTP client of Node reads: upgraded ones, and those that tests write to byte by
// byte.

import { ClientRequest, type IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { recordStream } from "./record-stream.ts";
import type { RunRecorder } from "./run-record.ts";

export function recordSockets(recorder: RunRecorder): void {
  recordUpgrades(recorder);
  const seen = new WeakSet<TLSSocket>();
  const inherited = TLSSocket.prototype.push;
  Object.defineProperty(TLSSocket.prototype, "push", {
    configurable: true,
    writable: true,
    value(this: TLSSocket, chunk: unknown, encoding?: BufferEncoding) {
      if (seen.has(this) || !isOfClient(this) || isReadByHttp(this) || isReadByUndici(this))
        return inherited.call(this, chunk, encoding);
      seen.add(this);
      const place = `bytes from ${this.remoteAddress}:${this.remotePort}`;
      recordStream(recorder, this, { place: () => place, isGzip: () => false });
      return this.push(chunk, encoding);
    },
  });
}

/** The bytes that arrive together with the response to the upgrade. */
function recordUpgrades(recorder: RunRecorder): void {
  const { emit } = ClientRequest.prototype;
  ClientRequest.prototype.emit = function (this: ClientRequest, name: string | symbol, ...args: unknown[]) {
    if (name === "upgrade" || name === "connect") {
      // Both events are documented by Node.
      const [response, , head] = args as [IncomingMessage, unknown, Buffer];
      const place = `${this.method} ${this.path} ${response.statusCode} (${name})`;
      recorder.write("answer", place, Buffer.concat([Buffer.from(JSON.stringify(response.rawHeaders)), head]));
    }
    return emit.call(this, name, ...args);
  };
}

/** Node's own fields; the server side of a connection in the same process carries requests. */
const isOfClient = (socket: TLSSocket): boolean =>
  (Reflect.get(socket, "_tlsOptions") as { isServer?: boolean } | undefined)?.isServer !== true;
const isReadByHttp = (socket: TLSSocket): boolean => (Reflect.get(socket, "parser") ?? null) !== null;
/** By undici, the server asks clusters and providers: no client sees their answers as they are, and those of providers have tokens. */
const isReadByUndici = (socket: TLSSocket): boolean =>
  Object.getOwnPropertySymbols(socket).some(({ description }) => description === "parser");

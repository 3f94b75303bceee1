// Bounds how many TLS handshakes go on at one time: each costs more than a hundred requests.

import type { Http2SecureServer } from "node:http2";
import type { Socket } from "node:net";

export type HandshakeGate = {
  /** Drops every connection whose handshake is not done. */
  close(): void;
};

/** Must be called before the first connection. Connections past the bound are dropped before anything is computed for them. */
export function installHandshakeGate(server: Http2SecureServer, maxHandshakes: number): HandshakeGate {
  const pending = new Map<string, Socket>();
  // TLS hands out another socket than came in: what both know is the other end.
  const keyOf = ({ remoteAddress = "", remotePort = 0 }: Pick<Socket, "remoteAddress" | "remotePort">): string =>
    `${remoteAddress} ${remotePort}`;
  server.prependListener("connection", (socket: Socket) => {
    if (pending.size >= maxHandshakes) {
      socket.destroy();
      return;
    }
    const key = keyOf(socket);
    pending.set(key, socket);
    socket.once("close", () => pending.delete(key));
  });
  server.prependListener("secureConnection", (socket) => pending.delete(keyOf(socket)));
  return {
    close() {
      for (const socket of pending.values()) socket.destroy();
    },
  };
}

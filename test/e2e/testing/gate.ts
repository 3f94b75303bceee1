// A door in front of a server: what goes through it can be cut off and let in again, while others reach the server past it.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export type Gate = AsyncDisposable & {
  readonly port: number;
  /** Cuts every connection, and lets none in. */
  shut(): void;
  open(): void;
};

/** Forwards bytes to a port of this machine; while nothing listens there, the connection is cut. */
export async function openGate(targetPort: number): Promise<Gate> {
  const sockets = new Set<Socket>();
  let isOpen = true;
  const server = createServer((client) => {
    if (!isOpen) {
      client.destroy();
      return;
    }
    const target = connect(targetPort, "127.0.0.1");
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(target).pipe(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    shut() {
      isOpen = false;
      cut();
    },
    open() {
      isOpen = true;
    },
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

// Two sockets as one connection, for relays between a client and a server.

import type { Socket } from "node:net";

/** Bytes of each go to the other, and either ends with the other. `open` has them for as long as they are. */
export function joinSockets(client: Socket, target: Socket, open: Set<Socket>): void {
  for (const [one, other] of [
    [client, target],
    [target, client],
  ] as const) {
    open.add(one);
    one.on("error", () => undefined);
    one.once("close", () => {
      open.delete(one);
      other.destroy();
    });
    one.pipe(other);
  }
}

// An HTTP proxy that takes CONNECT, on the way of an agent to its platform. Its connections can be cut, and led elsewhere.

import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { joinSockets } from "./join-sockets.ts";

type Place = { readonly host: string; readonly port: number };

export type HttpProxy = {
  readonly url: string;
  /** Hosts and ports that clients have asked for. */
  targets(): readonly string[];
  /** Users and passwords, as `user:password`, that clients have presented. */
  logins(): readonly string[];
  /** From now on connections go there, whatever clients ask for. */
  lead(to: Place): void;
  /** Ends all connections. */
  cut(): void;
  close(): void;
};

export async function startHttpProxy(address = "127.0.0.1"): Promise<HttpProxy> {
  const open = new Set<Socket>();
  const targets = new Set<string>();
  const logins = new Set<string>();
  let led: Place | undefined;
  const server = createServer();
  server.on("connect", ({ url = "", headers }, client: Socket) => {
    targets.add(url);
    const [, login] = /^Basic (.*)$/.exec(headers["proxy-authorization"] ?? "") ?? [];
    if (login !== undefined) logins.add(Buffer.from(login, "base64").toString());
    const { hostname, port } = new URL(`http://${url}`);
    const target = connect(led ?? { host: hostname, port: Number(port) }, () =>
      client.write("HTTP/1.1 200 OK\r\n\r\n"),
    );
    joinSockets(client, target, open);
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const bound = server.address();
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://${address}:${typeof bound === "object" && bound !== null ? bound.port : 0}`,
    targets: () => [...targets],
    logins: () => [...logins],
    lead(to) {
      led = to;
    },
    cut,
    close() {
      cut();
      server.close();
    },
  };
}

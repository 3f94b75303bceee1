// A target of the proxy on a real TLS socket, which does whatever a test says.

import { createServer as createPlainServer, type RequestListener, type Server } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { serverCertificate } from "@postern/apiserver/transport/testing/serve-handler";
import { onTestFinished } from "vitest";

export type TestUpstream = {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** PEM of what verifies it. */
  readonly certificateAuthorityPem: string;
  /** Connections that are open now. */
  readonly sockets: ReadonlySet<Socket>;
  /** Connections ever made. */
  readonly accepted: () => number;
};

export async function serveUpstream(
  listener: RequestListener,
  { plain = false, port = 0 } = {},
): Promise<TestUpstream> {
  const server: Server = plain ? createPlainServer(listener) : createServer({ ...serverCertificate }, listener);
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on(plain ? "connection" : "secureConnection", (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const bound = server.address() as AddressInfo;
  return {
    url: `${plain ? "http" : "https"}://127.0.0.1:${bound.port}`,
    port: bound.port,
    server,
    certificateAuthorityPem: serverCertificate.cert,
    sockets,
    accepted: () => accepted,
  };
}

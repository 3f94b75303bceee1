import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { serverCertificate } from "../testing/serve-handler.ts";
import { createTlsServer } from "../tls/secure-server.ts";
import { DEFAULT_TRANSPORT_LIMITS } from "../transport-limits.ts";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
/** Earlier releases give every request a stream that is to be read to its end. */
const leavesOut = major > 25 || (major === 25 && minor >= 1) || (major === 24 && minor >= 12);

it.each([
  ["without a body has a stream that has ended, where Node can", "\r\n", `${leavesOut}`],
  ["with a body has a stream to be read", "Content-Length: 2\r\n\r\n{}", "false"],
  ["with a body of unknown length has one, too", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "false"],
])("a request over HTTP/1.1 %s", async (_, rest, hasEnded) => {
  const server = createTlsServer(serverCertificate, DEFAULT_TRANSPORT_LIMITS);
  server.on("request", (request, response) => {
    // The compatibility layer of HTTP/2 has the same names.
    const { readableEnded } = request as unknown as IncomingMessage;
    (response as unknown as ServerResponse).end(String(readableEnded));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
  socket.write(`POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${rest}`);
  expect(await text(socket)).toMatch(new RegExp(`\r\n\r\n(?:\\d+\r\n)?${hasEnded}`));
});

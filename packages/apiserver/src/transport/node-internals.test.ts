// Fails where Node has changed a private member that this server relies on: then see node-internals.ts.

import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import {
  connect as connectHttp2,
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import {
  type Http1Settings,
  handleOf,
  leaveOutCompatibility,
  readByStream,
  readNoFurther,
  readOn,
  setHttp1,
  takeHandshakes,
  takeSessionEnd,
} from "./node-internals.ts";
import { serverCertificate } from "./testing/serve-handler.ts";

async function openSession() {
  const server = createSecureServer(serverCertificate);
  const sockets: TLSSocket[] = [];
  server.prependListener("secureConnection", (socket: TLSSocket) => void sockets.push(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  client.on("error", () => undefined);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const [session] = (await once(server, "session")) as [ServerHttp2Session];
  const [socket] = sockets;
  return { session, client, socket: socket as TLSSocket };
}

it(`sockets of Node ${process.version} have a handle that stops and starts reading`, async () => {
  const { socket, session, client } = await openSession();
  const handle = handleOf(socket);
  expect([typeof handle?.readStop, typeof handle?.readStart]).toEqual(["function", "function"]);
  readNoFurther(socket);
  let seen = 0;
  session.on("stream", (stream) => {
    seen++;
    stream.respond({ ":status": 200 }, { endStream: true });
  });
  const request = client.request({ ":path": "/" });
  request.on("error", () => undefined);
  expect(seen).toBe(0);
  readOn(socket);
  await once(request, "response");
  expect(seen).toBe(1);
});

it(`a session of Node ${process.version} ends in a listener of its socket that has this name`, async () => {
  const { socket, session } = await openSession();
  const end = takeSessionEnd(socket);
  expect(end).toBeTypeOf("function");
  const closed = once(session, "close");
  socket.destroy();
  await once(socket, "close");
  expect(session.destroyed).toBe(false);
  end?.();
  await closed;
  expect(session.destroyed).toBe(true);
});

/** A server of HTTP/1.1 and HTTP/2 that answers requests of HTTP/1.1 with 200. */
async function serve(prepare: (server: Http2SecureServer) => void = () => undefined) {
  const server = createSecureServer({ ...serverCertificate, allowHTTP1: true });
  prepare(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const connect = (): TLSSocket => {
    const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
    socket.on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { server, port, connect };
}

it(`a listener for data takes a connection of Node ${process.version} back from its parser`, async () => {
  const { server, connect } = await serve();
  connect().write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const [{ socket }] = (await once(server, "request")) as [IncomingMessage];
  const { parser } = socket as unknown as { parser: { _consumed: boolean } };
  expect(parser._consumed).toBe(true);
  readByStream(socket);
  expect(parser._consumed).toBe(false);
  readByStream(socket);
  expect(socket.listenerCount("data")).toBeLessThanOrEqual(2);
});

it(`a server of Node ${process.version} sets its compatibility layer up in the one listener for new listeners`, async () => {
  const { server, port } = await serve();
  expect(server.listeners("newListener").map(({ name }) => name)).toEqual(["setupCompat"]);
  leaveOutCompatibility(server);
  const requests: unknown[] = [];
  server.on("request", (request) => void requests.push(request));
  const client = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => client.destroy());
  client.request({ ":path": "/" }).on("error", () => undefined);
  const [stream] = await once(server, "stream");
  stream.respond({ ":status": 200 }, { endStream: true });
  expect(requests).toEqual([]);
});

const HEAD = "GET / HTTP/1.1\r\nHost: h\r\n";

it.each<[setting: string, settings: Partial<Http1Settings>, sent: string, answer: RegExp]>([
  ["a longest head", { maxHeaderSize: 2_000 }, `${HEAD}X: ${"x".repeat(3_000)}\r\n\r\n`, /^HTTP\/1.1 431/],
  ["a time for heads", { headersTimeout: 60, connectionsCheckingInterval: 20 }, HEAD, /^HTTP\/1.1 408/],
  [
    "a time for requests",
    { requestTimeout: 60, headersTimeout: 60, connectionsCheckingInterval: 20 },
    `${HEAD}Content-Length: 9\r\n\r\n`,
    /HTTP\/1.1 408/,
  ],
  ["a time between requests", { keepAliveTimeout: 7_000 }, `${HEAD}\r\n`, /\r\nKeep-Alive: timeout=7\r\n/],
  ["a time for connections", { timeout: 60 }, HEAD, /^$/],
  ["hosts that may be left out", { requireHostHeader: false }, "GET / HTTP/1.1\r\n\r\n", /^HTTP\/1.1 200/],
])(`HTTP/1.1 of Node ${process.version} reads %s from the server`, async (_, settings, sent, answer) => {
  const { connect } = await serve((server) => {
    setHttp1(server, settings as Http1Settings);
    server.on("request", (request, response) => {
      request.on("error", () => undefined);
      if (settings.requestTimeout === undefined) response.end();
      setTimeout(() => request.socket.end(), 200);
    });
  });
  const socket = connect();
  socket.write(sent);
  expect(await text(socket)).toMatch(answer);
});

it(`a server of Node ${process.version} begins a handshake in a listener for connections`, async () => {
  const arrived: Socket[] = [];
  let begin: (socket: Socket) => void = () => undefined;
  const { server, connect } = await serve((each) => {
    expect(each.listenerCount("connection")).toBe(1);
    begin = takeHandshakes(each);
    each.on("connection", (socket) => void arrived.push(socket));
  });
  const client = connect();
  await once(server, "connection");
  const [socket] = arrived;
  expect(client.authorized).toBe(false);
  const secured = once(server, "secureConnection");
  begin(socket as Socket);
  await secured;
});

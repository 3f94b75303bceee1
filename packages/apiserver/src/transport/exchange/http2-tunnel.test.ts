// WebSockets over HTTP/2, as browsers open them where they have an HTTP/2 connection already.

import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { constants } from "node:http2";
import type { Duplex } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import type { ApiRequest } from "../api-request.ts";
import { type ApiResponse, jsonResponse } from "../api-response.ts";
import { deferred } from "../testing/deferred.ts";
import { clientFrame, OPCODES, openHttp2WebSocket, serverMessages } from "../testing/http2-web-socket.ts";
import { echo, serveHandler } from "../testing/serve-handler.ts";
import { http2, openHttp2, readAll } from "../testing/test-clients.ts";

const SWITCHING = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Seen: yes\r\n";

function open(port: number) {
  const session = openHttp2(port);
  onTestFinished(() => session.destroy());
  return session;
}

/** Everything until the other side's end. Iterating would close our side as well. */
async function collect(socket: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(socket, "end");
  return Buffer.concat(chunks).toString();
}

/** Takes each connection over, and answers with a 101 and what the test writes behind it. */
async function serveTunnel(use: (socket: Duplex, request: ApiRequest) => void) {
  return await serveHandler(async (request): Promise<ApiResponse> => {
    const { socket } = request.upgrade?.accept() ?? expect.unreachable();
    const done = once(socket, "close").then(() => undefined);
    use(socket, request);
    return { status: 101, headers: {}, body: { type: "upgraded", done } };
  });
}

test("looks to a WebSocket library like any other handshake", async () => {
  const sockets = new WebSocketServer({ noServer: true });
  const seen: ApiRequest[] = [];
  const { port } = await serveTunnel((socket, request) => {
    seen.push(request);
    const handshake = { method: request.method, headers: request.headers } as unknown as IncomingMessage;
    sockets.handleUpgrade(handshake, socket, Buffer.alloc(0), (webSocket) => {
      webSocket.on("message", (data, isBinary) => webSocket.send(data, { binary: isBinary }));
    });
  });
  const { stream, headers } = await openHttp2WebSocket(open(port), "/api?watch=1", {
    "sec-websocket-protocol": "v5.channel.k8s.io",
  });
  expect(headers[":status"]).toBe(200);
  expect(headers).toMatchObject({ "sec-websocket-protocol": "v5.channel.k8s.io" });
  for (const name of ["sec-websocket-accept", "upgrade", "connection"]) expect(headers).not.toHaveProperty(name);
  expect(seen[0]).toMatchObject({ method: "GET", path: "/api", httpVersion: "2.0", host: `127.0.0.1:${port}` });

  const messages = serverMessages(stream);
  const large = Buffer.alloc(300_000, "abc");
  stream.write(clientFrame(OPCODES.text, "hello"));
  stream.write(clientFrame(OPCODES.binary, large));
  expect(String((await messages.next()).value.payload)).toBe("hello");
  expect(Buffer.compare((await messages.next()).value.payload, large)).toBe(0);
  stream.write(clientFrame(OPCODES.close, Buffer.from([3, 232])));
  expect((await messages.next()).value).toMatchObject({ opcode: OPCODES.close, payload: Buffer.from([3, 232]) });
  expect((await messages.next()).done).toBe(true);
});

test("is refused as any HTTP/2 request is", async () => {
  const { port } = await serveHandler(async () => jsonResponse(403, '"no"'));
  const session = open(port);
  const { stream, headers } = await openHttp2WebSocket(session, "/x");
  expect(headers[":status"]).toBe(403);
  expect(await readAll(stream)).toBe('"no"');
  stream.end();
  expect((await http2(session, { ":path": "/x" })).status).toBe(403);
});

test("accepts the head in pieces, and passes on what follows unchanged", async () => {
  const { port } = await serveTunnel((socket) => {
    for (const piece of [SWITCHING, "\r", "\nfirst ", Buffer.from([0x80, 0xff])]) socket.write(piece);
    socket.end();
  });
  const { stream, headers } = await openHttp2WebSocket(open(port), "/x");
  expect(headers["x-seen"]).toBe("yes");
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  expect(Buffer.concat(chunks)).toEqual(Buffer.concat([Buffer.from("first "), Buffer.from([0x80, 0xff])]));
});

describe("either side may end first", () => {
  test("the server answers after the client's end", async () => {
    const { port } = await serveTunnel((socket) => {
      socket.write(`${SWITCHING}\r\n`);
      void collect(socket).then((all) => socket.end(`got ${all}`));
    });
    const { stream } = await openHttp2WebSocket(open(port), "/x");
    stream.end("everything");
    expect(await readAll(stream)).toBe("got everything");
  });

  test("the client continues after the server ends its side", async () => {
    const received = deferred<string>();
    const { port } = await serveTunnel((socket) => {
      socket.end(`${SWITCHING}\r\nbye`);
      void collect(socket).then(received.resolve);
    });
    const { stream } = await openHttp2WebSocket(open(port), "/x");
    expect(String((await once(stream, "data"))[0])).toBe("bye");
    await once(stream.resume(), "end");
    stream.end("still here");
    expect(await received.promise).toBe("still here");
  });
});

test("a client that resets the stream aborts the request", async () => {
  const aborted = deferred();
  const { port } = await serveTunnel((socket, request) => {
    request.signal.addEventListener("abort", () => aborted.resolve());
    socket.write(`${SWITCHING}\r\n`);
    socket.resume();
  });
  const { stream } = await openHttp2WebSocket(open(port), "/x");
  stream.close(constants.NGHTTP2_CANCEL);
  await aborted.promise;
});

test("a connection that is cut here is a reset there, and its neighbours go on", async () => {
  const { port } = await serveTunnel((socket) => {
    socket.write(`${SWITCHING}\r\n`);
    socket.once("data", (chunk) => (String(chunk) === "cut" ? socket.destroy() : socket.write("fine")));
  });
  const session = open(port);
  const [first, second] = [await openHttp2WebSocket(session, "/x"), await openHttp2WebSocket(session, "/y")];
  first.stream.resume().write("cut");
  await once(first.stream, "close");
  expect(first.stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
  second.stream.write("go on");
  expect(String((await once(second.stream, "data"))[0])).toBe("fine");
});

test("a slow reader slows the server", async () => {
  const total = 32 << 20;
  let produced = 0;
  const { port } = await serveTunnel(async (socket) => {
    socket.write(`${SWITCHING}\r\n`);
    const chunk = Buffer.alloc(64 << 10, "x");
    for (; produced < total; produced += chunk.length) {
      if (!socket.write(chunk)) await once(socket, "drain");
    }
    socket.end();
  });
  const { stream } = await openHttp2WebSocket(open(port), "/x");
  let consumed = 0;
  let largestGap = 0;
  for await (const chunk of stream) {
    consumed += chunk.length;
    largestGap = Math.max(largestGap, produced - consumed);
    await new Promise(setImmediate);
  }
  expect(consumed).toBe(total);
  expect(largestGap).toBeLessThan(8 << 20);
});

test.each([{}, { ":protocol": "connect-udp", ":scheme": "https", ":path": "/x" }])(
  "other tunnels are not made: %j",
  async (headers) => {
    const { port } = await serveHandler(echo);
    const session = open(port);
    await once(session, "remoteSettings");
    const stream = session.request({ ":method": "CONNECT", ":authority": "example.com:443", ...headers });
    const [received] = await once(stream, "response");
    expect(received[":status"]).toBe(400);
  },
);

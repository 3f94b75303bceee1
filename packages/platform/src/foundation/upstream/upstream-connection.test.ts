// One connection and its requests, against a server that answers byte by byte.

import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { Readable } from "node:stream";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { expect, onTestFinished, test } from "vitest";
import { createAddressRules } from "./address-rules.ts";
import { createUpstreamConnections, type UpstreamLimits } from "./upstream-connections.ts";
import type { UpstreamRequest } from "./upstream-request.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

async function openTarget(onData: (socket: Socket, text: string) => void, limits: Partial<UpstreamLimits> = {}) {
  const sockets: Socket[] = [];
  let received = "";
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
      onData(socket, received);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const { scheduler } = systemRuntime;
  const target = { server: `http://127.0.0.1:${port}`, credential: {} };
  const connections = createUpstreamConnections(target, { scheduler, addresses: createAddressRules(), limits });
  onTestFinished(() => {
    connections[Symbol.dispose]();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const signal = new AbortController().signal;
  const ask = async (request: Partial<UpstreamRequest> = {}): Promise<string> => {
    const response = await connections.send({ method: "GET", path: "/", headers: {}, signal, ...request });
    return (await Readable.from(response).toArray()).join("");
  };
  return { ask, sockets, received: () => received, connections };
}

const stream = (...parts: string[]): Readable => Readable.from(parts.map((part) => Buffer.from(part)));

test("a body without a length goes out in chunks, one with a length as it is", async () => {
  const { ask, received, sockets } = await openTarget((socket, text) => {
    if (/0\r\n\r\n$|abcde$/.test(text)) socket.write(OK);
  });
  expect(await ask({ method: "POST", body: stream("abc", "", "de") })).toBe("ok");
  expect(received()).toMatch(/transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n$/);
  expect(await ask({ method: "POST", body: stream("abc", "de"), headers: ["content-length", "5"] })).toBe("ok");
  expect(received()).toMatch(/content-length: 5\r\n\r\nabcde$/);
  expect(sockets).toHaveLength(1);
});

test.each([
  ["longer", stream("abc", "def")],
  ["shorter", stream("abc")],
])("a body that is %s than it was said to be ends the connection, and nothing of it is a request", async (_, body) => {
  const { ask, sockets, received } = await openTarget(() => undefined);
  await expect(ask({ method: "POST", body, headers: ["content-length", "5"] })).rejects.toMatchObject({ code: 502 });
  await expect.poll(() => sockets[0]?.destroyed || sockets[0]?.readableEnded).toBe(true);
  expect(received()).not.toContain("def");
});

test("a response before the end of the request's body is given, and its connection carries nothing more", async () => {
  const { ask, sockets } = await openTarget((socket) => void socket.write(OK));
  const body = new Readable({ read() {} });
  body.push("abc");
  expect(await ask({ method: "POST", body })).toBe("ok");
  expect(body.destroyed).toBe(false);
  await expect.poll(() => sockets[0]?.readableEnded).toBe(true);
  expect(await ask()).toBe("ok");
  expect(sockets).toHaveLength(2);
});

test("a body that breaks off ends the request", async () => {
  const { ask, received } = await openTarget(() => undefined);
  const body = new Readable({ read() {} });
  body.push("abc");
  const asked = ask({ method: "POST", body });
  await expect.poll(received).toContain("abc");
  body.destroy(new Error("the caller is gone"));
  await expect(asked).rejects.toMatchObject({ code: 502 });
});

test("bytes that come before the next request make it take another connection", async () => {
  const { ask, sockets } = await openTarget((socket) => {
    socket.write(OK);
    // In a packet of its own.
    setImmediate(() => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged"));
  });
  for (let count = 1; count <= 3; count++) {
    expect(await ask()).toBe("ok");
    expect(sockets).toHaveLength(count);
    await expect.poll(() => sockets.every(({ readableEnded }) => readableEnded)).toBe(true);
  }
});

test.each([
  ["timeout=1", 2],
  ["timeout=0", 2],
  ["timeout=5", 1],
])("Keep-Alive: %s, and a request behind it: %i connections", async (value, count) => {
  const { ask, sockets } = await openTarget((socket) => {
    socket.write(OK.replace("\r\n\r\n", `\r\nKeep-Alive: ${value}\r\n\r\n`));
  });
  expect([await ask(), await ask()]).toEqual(["ok", "ok"]);
  expect(sockets).toHaveLength(count);
});

test("a connection that is not used is closed", async () => {
  const { ask, sockets } = await openTarget((socket) => void socket.write(OK), { idleTimeoutMs: 20 });
  await ask();
  await expect.poll(() => sockets[0]?.readableEnded).toBe(true);
});

test("requests one behind the other have one connection, and as many at once as many", async () => {
  const { ask, sockets } = await openTarget((socket) => void socket.write(OK));
  for (let count = 0; count < 5; count++) await ask();
  expect(sockets).toHaveLength(1);
  await Promise.all([ask(), ask(), ask()]);
  expect(sockets).toHaveLength(3);
});

test("a header that would be another line is not sent", async () => {
  const { ask, received, sockets } = await openTarget((socket) => void socket.write(OK));
  await expect(ask({ headers: ["a", "b\r\nc: d"] })).rejects.toMatchObject({ code: 503 });
  expect([received(), sockets.length]).toEqual(["", 1]);
});

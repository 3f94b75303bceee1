// Answers of a target that no honest server gives, written byte by byte: the caller gets an answer over either version of HTTP, and nothing goes on.

import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { http1, http2 } from "@postern/apiserver/transport/testing/test-clients";
import { expect, onTestFinished, test } from "vitest";
import { BASE, openSession, serveProxy } from "./testing/serve-proxy.ts";

/** Answers each request by itself. */
async function serveRaw(answer: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", () => answer(socket));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { target: { server: `http://127.0.0.1:${port}`, credential: {} }, sockets };
}

const head = (status: string, ...lines: string[]): string => [`HTTP/1.1 ${status}`, ...lines, "", ""].join("\r\n");
const OK = `${head("200 OK", "content-length: 2")}ok`;

async function askBoth(answer: string, path = `${BASE}/api/v1/pods`) {
  const { target } = await serveRaw((socket) => void socket.write(answer));
  const { port } = await serveProxy(target);
  return [await http1({ port, path }), await http2(openSession(port), { ":path": path })];
}

test.each(["000", "099", "600", "700", "999"])("status %s is 502", async (status) => {
  for (const { status: code, body } of await askBoth(`${head(`${status} x`, "content-length: 2")}ok`)) {
    expect([code, JSON.parse(body).details.causes[0].reason]).toEqual([502, "InvalidResponse"]);
  }
});

test.each([204, 205])("a body behind %i does not reach the caller, nor its length", async (code) => {
  for (const { status, headers, body } of await askBoth(`${head(`${code} x`, "content-length: 2")}ok`)) {
    expect([status, headers["content-length"] ?? "0", body]).toEqual([code, "0", ""]);
  }
});

test("304 keeps the length of what was not sent", async () => {
  for (const { status, headers } of await askBoth(head("304 x", "content-length: 200", "etag: a"))) {
    expect([status, headers["content-length"], headers["etag"]]).toEqual([304, "200", "a"]);
  }
});

// No request of ours has asked for the first.
test.each(["100 Continue", "102 Processing", "103 Early Hints"])(
  "a few answers of %s are passed over",
  async (status) => {
    for (const { status: code, body, headers } of await askBoth(`${head(status, "link: </a>").repeat(5)}${OK}`)) {
      expect([code, body, headers["link"]]).toEqual([200, "ok", undefined]);
    }
  },
);

test.each([
  ["a GET", "/api/v1/pods"],
  ["a log, which may be silent for long", "/api/v1/namespaces/a/pods/b/log?follow=1"],
  ["a watch", "/api/v1/pods?watch=1"],
])("interim answers without an end are 502 for %s, and the connection is closed", async (_, path) => {
  const many = Buffer.from(head("103 Early Hints", "link: </a>").repeat(1_000));
  const { target, sockets } = await serveRaw((socket) => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(many)) {}
      if (!socket.destroyed) socket.once("drain", more);
    };
    more();
  });
  const { port, connections } = await serveProxy(target);
  const { status, body } = await http1({ port, path: `${BASE}${path}` });
  expect([status, JSON.parse(body).message]).toEqual([502, expect.stringContaining("too many interim responses")]);
  await expect.poll(() => connections.active).toBe(0);
  await expect.poll(() => [...sockets].every(({ destroyed }) => destroyed)).toBe(true);
});

test("an index of OpenAPI that is larger than any is not read to its end", async () => {
  const index = "[".repeat(600_000);
  const { target } = await serveRaw((socket) => {
    socket.write(`${head("200 OK", `content-length: ${index.length}`)}${index}`);
  });
  const { port, connections } = await serveProxy(target);
  expect((await http1({ port, path: `${BASE}/openapi/v3` })).body).toBe("");
  await expect.poll(() => connections.active).toBe(0);
});

test("what a target sends behind a response is no response to the next request", async () => {
  let count = 0;
  const { target } = await serveRaw((socket) => {
    count += 1;
    const body = `answer ${count}`;
    socket.write(`${head("200 OK", `content-length: ${body.length}`)}${body}`);
    socket.write(`${head("200 OK", "content-length: 6")}forged`);
  });
  const { port } = await serveProxy(target);
  const ask = async () => (await http1({ port, path: `${BASE}/api/v1/pods` })).body;
  expect([await ask(), await ask(), await ask()]).toEqual(["answer 1", "answer 2", "answer 3"]);
});

test("a head that is longer than any is 502", async () => {
  for (const long of ["a".repeat(100_000), "a: b\r\nx-".repeat(20_000)]) {
    const [over1] = await askBoth(`${head("200 OK", `x-${long}: b`, "content-length: 2")}ok`);
    expect([over1?.status, JSON.parse(over1?.body ?? "").details.causes[0].reason]).toEqual([502, "InvalidResponse"]);
  }
});

test.each(["timeout=999999999999999999", "timeout=-1", "timeout=0", "timeout=1e9, max=0", ""])(
  "Keep-Alive: %s does not make more of a connection than it is",
  async (value) => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    for (const { status, body } of await askBoth(`${head("200 OK", `keep-alive: ${value}`, "content-length: 2")}ok`)) {
      expect([status, body]).toEqual([200, "ok"]);
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  },
);

test("a target that closes each connection at once, or speaks before it is asked, is dialled once for a request", async () => {
  for (const first of ["", OK, "no HTTP"]) {
    let dialled = 0;
    const server = createServer((socket) => {
      dialled += 1;
      socket.on("error", () => undefined);
      socket.end(first);
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const proxy = await serveProxy({ server: `http://127.0.0.1:${port}`, credential: {} });
    const { status } = await http1({ port: proxy.port, method: "POST", path: `${BASE}/api/v1/pods`, body: "{}" });
    expect(status).toBeGreaterThanOrEqual(first === OK ? 200 : 500);
    expect(dialled).toBe(1);
    await expect.poll(() => proxy.connections.active).toBe(0);
  }
});

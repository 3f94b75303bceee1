// Streams through the proxy: nothing is collected on the way, both sides set the pace, and an end anywhere is an end everywhere.

import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { request as httpsRequest } from "node:https";
import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { deferred } from "@postern/apiserver/transport/testing/deferred";
import { http1, openTls, readAll } from "@postern/apiserver/transport/testing/test-clients";
import { expect, onTestFinished, test } from "vitest";
import { BASE, openSession, serveProxy } from "./testing/serve-proxy.ts";
import { serveUpstream } from "./testing/serve-upstream.ts";

const WATCH = `${BASE}/api/v1/pods?watch=1`;
const MiB = 1 << 20;
/** Bytes that sockets, TLS and streams on the way may hold; a proxy that collected would hold all of it. */
const MAX_IN_FLIGHT = 24 * MiB;

async function openStream(port: number, path: string, options: { method?: string } = {}) {
  const request = httpsRequest({ port, path, host: "127.0.0.1", rejectUnauthorized: false, agent: false, ...options });
  request.on("error", () => undefined);
  onTestFinished(() => void request.destroy());
  if (options.method === undefined) request.end();
  return request;
}

const responseOf = async (request: ReturnType<typeof httpsRequest>): Promise<IncomingMessage> => {
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.on("error", () => undefined);
  return response;
};

async function nextText(response: IncomingMessage): Promise<string> {
  const [chunk] = await once(response, "data");
  return String(chunk);
}

/** Writes as fast as it may. */
async function pour(stream: NodeJS.WritableStream, total: number, count: (bytes: number) => void): Promise<void> {
  const chunk = Buffer.alloc(64 << 10, "x");
  for (let written = 0; written < total; written += chunk.length) {
    count(chunk.length);
    if (!stream.write(chunk)) await once(stream, "drain");
  }
  stream.end();
}

test("a watch gets each event when it happens", async () => {
  const open = deferred<ServerResponse>();
  const upstream = await serveUpstream((_request, response) => {
    response.writeHead(200).flushHeaders();
    open.resolve(response);
  });
  const { port } = await serveProxy({ ...upstream, server: upstream.url, credential: {} });
  const response = await responseOf(await openStream(port, WATCH));
  const source = await open.promise;
  for (const event of ["ADDED", "MODIFIED", "DELETED"]) {
    source.write(`{"type":"${event}"}\n`);
    expect(await nextText(response)).toBe(`{"type":"${event}"}\n`);
  }
  source.end();
  expect(await readAll(response)).toBe("");
  expect(response.complete).toBe(true);
});

test("a watch outlasts the time that unused connections are kept", async () => {
  const open = deferred<ServerResponse>();
  const upstream = await serveUpstream((request, response) => {
    if (request.url === "/version") return void response.end();
    response.writeHead(200).flushHeaders();
    open.resolve(response);
  });
  const limits = { idleTimeoutMs: 20, connectTimeoutMs: 5_000 };
  const { port } = await serveProxy({ ...upstream, server: upstream.url, credential: {} }, { limits });
  const response = await responseOf(await openStream(port, WATCH));
  const source = await open.promise;
  // A connection that is used after the watch has begun, and closed for being idle since.
  await http1({ port, path: `${BASE}/version` });
  expect(upstream.accepted()).toBe(2);
  await expect.poll(() => upstream.sockets.size).toBe(1);
  source.write("late\n");
  expect(await nextText(response)).toBe("late\n");
});

test.each(["1.1", "2"])(
  "a reader over HTTP/%s that is slow slows the target, and memory stays flat",
  async (version) => {
    const total = 2 * MAX_IN_FLIGHT;
    let produced = 0;
    const upstream = await serveUpstream((_request, response) => {
      void pour(response, total, (bytes) => {
        produced += bytes;
      });
    });
    const { port } = await serveProxy({ ...upstream, server: upstream.url, credential: {} });
    let stream: NodeJS.ReadableStream;
    if (version === "2") {
      stream = openSession(port).request({ ":path": `${BASE}/api/v1/namespaces/a/pods/b/log?follow=1` });
    } else {
      stream = await responseOf(await openStream(port, `${BASE}/api/v1/namespaces/a/pods/b/log?follow=1`));
    }
    let consumed = 0;
    let largestGap = 0;
    for await (const chunk of stream) {
      consumed += chunk.length;
      largestGap = Math.max(largestGap, produced - consumed);
      // Everybody else gets their turns before more is taken.
      if (consumed % 16 === 0) await new Promise(setImmediate);
    }
    expect(consumed).toBe(total);
    expect(largestGap).toBeLessThan(MAX_IN_FLIGHT);
  },
);

test("a target that is slow to read slows the caller's upload", async () => {
  const total = 2 * MAX_IN_FLIGHT;
  let sent = 0;
  let received = 0;
  let largestGap = 0;
  const upstream = await serveUpstream(async (request, response) => {
    for await (const chunk of request) {
      received += chunk.length;
      largestGap = Math.max(largestGap, sent - received);
      await new Promise(setImmediate);
    }
    response.end(String(received));
  });
  const { port } = await serveProxy({ ...upstream, server: upstream.url, credential: {} });
  const request = await openStream(port, `${BASE}/api/v1/namespaces/a/services/b/proxy/upload`, { method: "POST" });
  const answered = responseOf(request);
  await pour(request, total, (bytes) => {
    sent += bytes;
  });
  expect(await readAll(await answered)).toBe(String(total));
  expect(largestGap).toBeLessThan(MAX_IN_FLIGHT);
});

test("a watch is closed on both sides when the caller's key is revoked (security book 15)", async () => {
  const upstreamClosed = deferred();
  const upstream = await serveUpstream((request, response) => {
    request.socket.once("close", () => upstreamClosed.resolve());
    response.write("first\n");
  });
  const { port, requests, connections } = await serveProxy({ ...upstream, server: upstream.url, credential: {} });
  const response = await responseOf(await openStream(port, WATCH));
  expect(await nextText(response)).toBe("first\n");
  const closed = new Promise((resolve) => response.once("close", resolve));
  requests.at(-1)?.abort?.(unauthorizedError());
  await closed;
  expect(response.complete).toBe(false);
  await upstreamClosed.promise;
  await expect.poll(() => connections.active).toBe(0);
});

test("a stream is closed although its reader has stopped reading", async () => {
  const upstreamClosed = deferred();
  const upstream = await serveUpstream((request, response) => {
    request.socket.once("close", () => upstreamClosed.resolve());
    response.on("error", () => undefined);
    void pour(response, 1 << 30, () => undefined).catch(() => undefined);
  });
  const { port, requests } = await serveProxy({ ...upstream, server: upstream.url, credential: {} });
  const response = await responseOf(await openStream(port, WATCH));
  response.pause();
  requests.at(-1)?.abort?.(unauthorizedError());
  await upstreamClosed.promise;
});

test("a request that still waits for its target is refused when the key is revoked", async () => {
  const arrived = deferred();
  const upstream = await serveUpstream(() => arrived.resolve());
  const { port, requests, connections } = await serveProxy({ ...upstream, server: upstream.url, credential: {} });
  const answer = http1({ port, path: `${BASE}/api/v1/pods` });
  await arrived.promise;
  requests.at(-1)?.abort?.(unauthorizedError());
  expect((await answer).status).toBe(401);
  await expect.poll(() => connections.active).toBe(0);
});

test("the target is let go when the caller leaves", async () => {
  const upstreamClosed = deferred();
  const upstream = await serveUpstream((request, response) => {
    request.socket.once("close", () => upstreamClosed.resolve());
    response.write("first\n");
  });
  const { port, connections } = await serveProxy({ ...upstream, server: upstream.url, credential: {} });
  const request = await openStream(port, WATCH);
  await nextText(await responseOf(request));
  request.destroy();
  await upstreamClosed.promise;
  await expect.poll(() => connections.active).toBe(0);
});

test("the caller notices an interrupted response", async () => {
  const upstream = await serveUpstream((_request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("half", () => response.destroy());
  });
  const { port } = await serveProxy({ ...upstream, server: upstream.url, credential: {} });
  const response = await responseOf(await openStream(port, `${BASE}/api/v1/pods`));
  expect(await readAll(response)).toBe("half");
  expect(response.complete).toBe(false);
});

test("the target notices an interrupted upload", async () => {
  const aborted = deferred<boolean>();
  const arrived = deferred();
  const upstream = await serveUpstream((request) => {
    request.once("data", () => arrived.resolve());
    request.on("error", () => undefined).once("close", () => aborted.resolve(request.complete));
  });
  const { port } = await serveProxy({ ...upstream, server: upstream.url, credential: {} });
  const socket = await openTls(port);
  socket.write(`POST ${BASE}/api/v1/pods HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf`);
  await arrived.promise;
  socket.destroy();
  expect(await aborted.promise).toBe(false);
});

test("an answer that comes before the whole of a body is handed on", async () => {
  const upstream = await serveUpstream((_request, response) => {
    response.writeHead(413, { connection: "close" }).end("too large");
  });
  const { port, connections } = await serveProxy({ ...upstream, server: upstream.url, credential: {} });
  const socket = await openTls(port);
  socket.write(`POST ${BASE}/api/v1/pods HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nbegin`);
  const [chunk] = await once(socket, "data");
  expect(String(chunk)).toContain("413");
  socket.destroy();
  await readAll(socket);
  await expect.poll(() => connections.active).toBe(0);
});

test("requests beyond the bound are refused at once, with the time to come back", async () => {
  const upstream = await serveUpstream((_request, response) => void response.write("open\n"));
  const limits = { maxConnections: 2 };
  const { port, connections } = await serveProxy({ ...upstream, server: upstream.url, credential: {} }, { limits });
  const first = await openStream(port, WATCH);
  await responseOf(first);
  await responseOf(await openStream(port, WATCH));
  const refused = await http1({ port, path: `${BASE}/version` });
  expect(refused.status).toBe(503);
  expect(refused.headers["retry-after"]).toBe("1");
  expect(JSON.parse(refused.body).details.causes[0].reason).toBe("TooManyConnections");
  first.destroy();
  await expect.poll(() => connections.active).toBe(1);
  await responseOf(await openStream(port, WATCH));
});

// Answers of a target that no honest server gives, written byte by byte: the caller gets an answer over either version of HTTP, and nothing goes on.

import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { http1, http2 } from "@postern/apiserver/transport/testing/test-clients";
import { expect, onTestFinished, test } from "vitest";
import { BASE, openSession, serveProxy } from "./testing/serve-proxy.ts";

/** Answers each request by itself. */
async function serveRaw(answer: (socket: Socket, request: string) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => answer(socket, bytes.toString("latin1")));
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

test.each([
  ["an index of OpenAPI that is larger than any", "/openapi/v3", 600_000],
  ["an index of OpenAPI that breaks off", "/openapi/v3", 100],
  ["a list that breaks off", "/api/v1/pods", 100],
])("%s ends its connections, and is no fault of the server", async (_, path, sent) => {
  const { target } = await serveRaw((socket) => {
    socket.write(`${head("200 OK", "content-length: 600000")}${"[".repeat(sent)}`);
    if (sent < 600_000) setTimeout(() => socket.resetAndDestroy(), 20);
  });
  const { port, connections, faults } = await serveProxy(target);
  expect((await http1({ port, path: `${BASE}${path}` })).body.length).toBeLessThanOrEqual(100);
  await expect.poll(() => connections.active).toBe(0);
  expect(faults).toEqual([]);
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

test.each([
  "content-length: 2\r\ncontent-length: 5",
  "content-length: 5, 5",
  "transfer-encoding: chunked\r\ncontent-length: 5",
])("a head with two lengths is 502: %j", async (lengths) => {
  for (const { status, body } of await askBoth(`${head("200 OK", lengths)}hello`)) {
    expect([status, JSON.parse(body).details.causes[0].reason]).toEqual([502, "InvalidResponse"]);
  }
});

/** The last word of a path. */
const nameIn = (request: string): string => /\/(\w+)[ ?]/.exec(request)?.[1] ?? "";

test("an answer that comes just when a request goes out does not leave the request's own answer to the next", async () => {
  const asked = new WeakMap<Socket, string[]>();
  const { target } = await serveRaw((socket, request) => {
    const requests = asked.get(socket) ?? [];
    asked.set(socket, [...requests, request]);
    // The second request finds an answer that came a moment before, and from then on each gets the one of the request before.
    const answered = requests.length === 0 ? request : requests.length === 1 ? undefined : requests.at(-1);
    if (answered === undefined) return void socket.write(OK);
    const id = /audit-id: (\S+)/.exec(answered)?.[1];
    const name = nameIn(answered);
    socket.write(`${head("200 OK", `audit-id: ${id}`, `content-length: ${name.length}`)}${name}`);
  });
  const { port } = await serveProxy(target);
  const ask = async (name: string) => (await http1({ port, path: `${BASE}/api/v1/${name}` })).body;
  expect([await ask("first"), await ask("second"), await ask("third"), await ask("fourth")]).toEqual([
    "first",
    "ok",
    "third",
    "ok",
  ]);
});

test("a target that answers without the Audit-Id of requests keeps its connections", async () => {
  const asked = new Map<Socket, number>();
  const { target } = await serveRaw((socket) => {
    asked.set(socket, (asked.get(socket) ?? 0) + 1);
    socket.write(OK);
  });
  const { port } = await serveProxy(target);
  for (let count = 0; count < 3; count++) await http1({ port, path: `${BASE}/api/v1/pods` });
  expect([...asked.values()]).toEqual([3]);
});

/** Reproducible: a linear congruential generator. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

test.each([1, 2, 3, 4])(
  "random bytes of two targets on kept connections reach callers of neither other, nor other requests: seed %i",
  async (seed) => {
    const random = createRandom(seed);
    const forged = "forged by a target";
    const serve = (own: string) =>
      serveRaw((socket, request) => {
        const text = `${own} ${nameIn(request)}`;
        const id = /audit-id: (\S+)/.exec(request)?.[1];
        const answer = `${head("200 OK", `audit-id: ${id}`, `content-length: ${text.length}`)}${text}`;
        const unasked = `${head("200 OK", `content-length: ${forged.length}`)}${forged}`;
        const noise = Buffer.from(Array.from({ length: random(60) }, () => random(256))).toString("latin1");
        const behind = ["", "", noise, unasked, unasked.slice(0, random(60)), unasked.slice(random(60)), "\r\n", "H"];
        const before = ["", "", "", noise, head("103 Early Hints"), "\r\n"];
        socket.write(`${before[random(before.length)]}${answer}`, "latin1");
        const rest = behind[random(behind.length)] ?? "";
        if (random(2) === 0) socket.write(rest, "latin1");
        else setImmediate(() => socket.write(rest, "latin1"));
        if (random(10) === 0) socket.end();
      });
    const targets = await Promise.all(["one", "other"].map(async (own) => ({ own, ...(await serve(own)) })));
    const proxies = await Promise.all(targets.map(({ target }) => serveProxy(target)));
    const session = proxies.map(({ port }) => openSession(port));
    let answers = 0;
    for (let count = 0; count < 60; count++) {
      const at = random(2);
      const own = targets[at]?.own;
      const path = `${BASE}/api/v1/n${count}`;
      const port = proxies[at]?.port ?? 0;
      const { status, body } = await (random(2) === 0
        ? http1({ port, path })
        : http2(session[at] as (typeof session)[number], { ":path": path }));
      expect([200, 502, 503]).toContain(status);
      // Bytes in the moment between two requests cannot be told from an answer. They never are one to another request.
      for (const [answered] of body.matchAll(/(?:one|other) n\d+/g)) expect(answered).toBe(`${own} n${count}`);
      answers += body === `${own} n${count}` ? 1 : 0;
    }
    expect(answers).toBeGreaterThan(10);
  },
);

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

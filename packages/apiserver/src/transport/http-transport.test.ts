import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { silentLogger } from "../logging/logger.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import type { ApiRequest } from "./api-request.ts";
import { type ApiResponse, jsonResponse } from "./api-response.ts";
import { createHttpTransport, type HttpTransport } from "./http-transport.ts";
import { AddressInUseError } from "./listen-error.ts";
import { createTestCertificate, type TestCertificate } from "./testing/test-certificates.ts";
import { http1, http2, openHttp2, openTls, readAll } from "./testing/test-clients.ts";
import type { TransportLimits } from "./transport-limits.ts";

let tls: TestCertificate;
beforeAll(() => {
  tls = createTestCertificate();
});

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(
  handler: (request: ApiRequest) => Promise<ApiResponse>,
  limits: Partial<TransportLimits> = {},
): Promise<{ port: number; transport: HttpTransport }> {
  const { scheduler } = systemRuntime;
  const transport = createHttpTransport({
    tls,
    bindAddress: "127.0.0.1",
    port: 0,
    handler,
    limits,
    scheduler,
    logger: silentLogger,
  });
  const { port } = await transport.listen();
  cleanups.push(() => transport.close({ drainMs: 0 }));
  return { port, transport };
}

const echo = async (request: ApiRequest): Promise<ApiResponse> => {
  const { method, path, httpVersion, remoteAddress, host, headers } = request;
  const body = Buffer.from(await request.body(1 << 20)).toString();
  const query = Object.fromEntries(request.query);
  return jsonResponse(200, JSON.stringify({ method, path, query, httpVersion, remoteAddress, host, headers, body }));
};

function deferred<T = void>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

describe("requests", () => {
  it("serves HTTP/1.1 and HTTP/2 on one port", async () => {
    const { port } = await serve(echo);
    const one = await http1({ port, method: "POST", path: "/api/v1/pods?limit=5", body: "hello" });
    const session = openHttp2(port);
    cleanups.push(() => session.destroy());
    const two = await http2(session, { ":path": "/api/v1/pods?limit=5", ":method": "POST" }, "hello");
    for (const [response, httpVersion] of [
      [one, "1.1"],
      [two, "2.0"],
    ] as const) {
      expect(response.status).toBe(200);
      expect(response.headers["content-type"]).toBe("application/json");
      expect(Number(response.headers["content-length"])).toBe(response.body.length);
      expect(response.headers.server).toBeUndefined();
      expect(JSON.parse(response.body)).toMatchObject({
        method: "POST",
        path: "/api/v1/pods",
        query: { limit: "5" },
        httpVersion,
        remoteAddress: "127.0.0.1",
        host: `127.0.0.1:${port}`,
        body: "hello",
      });
      expect(Object.keys(JSON.parse(response.body).headers).filter((name) => name.startsWith(":"))).toEqual([]);
    }
  });

  it("hands over the client's certificate, once for all requests of a connection", async () => {
    const client = createTestCertificate("alice");
    const seen: unknown[] = [];
    const { port } = await serve(async (request) => {
      seen.push(request.peerCertificate());
      return jsonResponse(200, request.peerCertificate()?.subject ?? "none");
    });
    expect((await http1({ port, path: "/", ...client })).body).toContain("CN=alice");
    expect((await http1({ port, path: "/" })).body).toBe("none");
    const session = openHttp2(port, client);
    cleanups.push(() => session.destroy());
    expect((await http2(session, { ":path": "/" })).body).toContain("CN=alice");
    await http2(session, { ":path": "/" });
    expect(seen.at(-1)).toBe(seen.at(-2));
  });

  it("keeps repeated identity headers apart", async () => {
    const { port } = await serve(echo);
    const lines = [
      "Authorization: Bearer a",
      "Authorization: Bearer b",
      "Impersonate-Group: x, y",
      "Impersonate-Group: z",
    ];
    const socket = await openTls(port);
    socket.end(`GET / HTTP/1.1\r\nHost: h\r\n${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`);
    const text = await readAll(socket);
    const expected = { authorization: ["Bearer a", "Bearer b"], "impersonate-group": ["x, y", "z"] };
    expect(JSON.parse(text.slice(text.indexOf("{"))).headers).toMatchObject(expected);
    const session = openHttp2(port);
    cleanups.push(() => session.destroy());
    const two = await http2(session, { ":path": "/", "impersonate-group": ["x, y", "z"] });
    expect(JSON.parse(two.body).headers).toMatchObject({ "impersonate-group": ["x, y", "z"] });
  });

  it("takes a path of 70 kB", async () => {
    const { port } = await serve(async (request) => jsonResponse(200, String(request.requestUri.length)));
    const path = `/api/v1/pods?labelSelector=${"a".repeat(70_000)}`;
    expect((await http1({ port, path })).body).toBe(String(path.length));
    const session = openHttp2(port);
    cleanups.push(() => session.destroy());
    expect((await http2(session, { ":path": path })).body).toBe(String(path.length));
  });

  it("answers HEAD with the head alone", async () => {
    const { port } = await serve(async () => jsonResponse(200, "body"));
    expect(await http1({ port, path: "/", method: "HEAD" })).toMatchObject({ status: 200, body: "" });
    const session = openHttp2(port);
    cleanups.push(() => session.destroy());
    expect(await http2(session, { ":path": "/", ":method": "HEAD" })).toMatchObject({ status: 200, body: "" });
  });

  it("answers a bare 500 when the handler rejects, and goes on", async () => {
    const { port } = await serve(async ({ path }) => {
      if (path === "/fail") throw new Error("s3cret");
      return jsonResponse(200, "fine");
    });
    expect(await http1({ port, path: "/fail" })).toMatchObject({ status: 500, body: "500 Internal Server Error" });
    expect((await http1({ port, path: "/" })).body).toBe("fine");
  });
});

describe("bodies", () => {
  const limited = async (request: ApiRequest): Promise<ApiResponse> => {
    try {
      return jsonResponse(200, String((await request.body(1000)).length));
    } catch (error) {
      const { code, message } = error as { code: number; message: string };
      return jsonResponse(code, message);
    }
  };
  const tooLarge = { status: 413, body: "Request entity too large: limit is 1000" };

  it("takes what is within the limit and answers 413 past it, also when the whole body is still to come", async () => {
    const { port } = await serve(limited);
    expect(await http1({ port, method: "POST", path: "/", body: Buffer.alloc(1000) })).toMatchObject({ body: "1000" });
    expect(await http1({ port, method: "POST", path: "/", body: Buffer.alloc(3_000_000) })).toMatchObject(tooLarge);
    const chunked = { "transfer-encoding": "chunked" };
    expect(
      await http1({ port, method: "POST", path: "/", headers: chunked, body: Buffer.alloc(3_000_000) }),
    ).toMatchObject(tooLarge);
    const session = openHttp2(port);
    cleanups.push(() => session.destroy());
    expect(await http2(session, { ":path": "/", ":method": "POST" }, Buffer.alloc(3_000_000))).toMatchObject(tooLarge);
    expect(await http2(session, { ":path": "/", ":method": "POST" }, Buffer.alloc(10))).toMatchObject({ body: "10" });
  });

  it("security book 50: answers 408 to a client that stops in the middle", async () => {
    const { port } = await serve(limited, { bodyStallTimeoutMs: 20 });
    const socket = await openTls(port);
    socket.write("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 408 /);
  });

  it("rejects the body when the client leaves in the middle", async () => {
    const failed = deferred<number>();
    const { port } = await serve(async (request) => {
      await request.body(1000).catch((error) => failed.resolve(error.code));
      return jsonResponse(200, "");
    });
    const socket = await openTls(port);
    socket.write("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    socket.destroy();
    expect(await failed.promise).toBe(499);
  });
});

describe("streaming responses", () => {
  const stream = (run: Extract<ApiResponse["body"], { type: "stream" }>["run"]): ApiResponse => ({
    status: 200,
    headers: { "content-type": "application/json" },
    body: { type: "stream", run },
  });

  it("sends the head before the first byte of the body", async () => {
    const go = deferred();
    const { port } = await serve(async () =>
      stream(async (sink) => {
        await go.promise;
        await sink.write("event\n");
      }),
    );
    const socket = await openTls(port);
    socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    const [head] = await once(socket, "data");
    expect(String(head)).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    go.resolve();
    const [event] = await once(socket, "data");
    expect(String(event)).toContain("event\n");
    socket.destroy();

    const session = openHttp2(port);
    cleanups.push(() => session.destroy());
    expect((await http2(session, { ":path": "/" })).body).toBe("event\n");
  });

  it.each(["http/1.1", "h2"])("waits for a slow client of %s, and stops when it leaves", async (protocol) => {
    const blocked = deferred<number>();
    const finished = deferred<boolean>();
    const { port } = await serve(async (request) =>
      stream(async (sink) => {
        for (;;) {
          const taken = sink.write(Buffer.alloc(64 << 10));
          if (typeof taken === "object") blocked.resolve(sink.bufferedBytes);
          if (!(await taken)) break;
        }
        finished.resolve(request.signal.aborted);
      }),
    );
    if (protocol === "h2") {
      const session = openHttp2(port);
      const request = session.request({ ":path": "/" });
      request.on("error", () => undefined);
      await once(request, "response");
      expect(await blocked.promise).toBeGreaterThan(0);
      session.destroy();
    } else {
      const socket = await openTls(port);
      socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
      await once(socket, "data");
      socket.pause();
      expect(await blocked.promise).toBeGreaterThan(0);
      socket.destroy();
    }
    expect(await finished.promise).toBe(true);
  });

  it.each(["http/1.1", "h2"])("cuts a response of %s that fails half way", async (protocol) => {
    const { port } = await serve(async () =>
      stream(async (sink) => {
        await sink.write("half");
        throw new Error("no more");
      }),
    );
    if (protocol === "h2") {
      const session = openHttp2(port);
      cleanups.push(() => session.destroy());
      const request = session.request({ ":path": "/" });
      const [error] = await once(request.resume(), "error").catch((thrown) => [thrown]);
      expect(String(error)).toContain("INTERNAL_ERROR");
    } else {
      const socket = await openTls(port);
      socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
      // The closing chunk of a whole response is missing.
      expect(await readAll(socket)).not.toMatch(/0\r\n\r\n$/);
    }
  });
});

describe("clients that leave", () => {
  it.each(["http/1.1", "h2"])("abort the signal of their request over %s", async (protocol) => {
    const arrived = deferred();
    const aborted = deferred<unknown>();
    const { port } = await serve(async ({ signal }) => {
      arrived.resolve();
      await once(signal, "abort");
      aborted.resolve(signal.reason);
      return jsonResponse(200, "too late");
    });
    if (protocol === "h2") {
      const session = openHttp2(port);
      cleanups.push(() => session.destroy());
      const request = session.request({ ":path": "/" });
      await arrived.promise;
      request.close();
    } else {
      const socket = await openTls(port);
      socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
      await arrived.promise;
      socket.destroy();
    }
    expect(await aborted.promise).toMatchObject({ code: 499 });
  });

  it("do not abort the signal of a request that was answered", async () => {
    const signals: AbortSignal[] = [];
    const { port } = await serve(async ({ signal }) => {
      signals.push(signal);
      return jsonResponse(200, "ok");
    });
    await http1({ port, path: "/" });
    const session = openHttp2(port);
    await http2(session, { ":path": "/" });
    await http2(session, { ":path": "/", ":method": "POST" }, "unread");
    session.destroy();
    await http1({ port, path: "/" });
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false, false]);
  });
});

describe("upgrades", () => {
  const ask = "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

  it("hands the connection over", async () => {
    const { port } = await serve(async (request) => {
      const { socket } = request.upgrade?.accept() ?? expect.unreachable();
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${request.upgrade?.protocol}\r\nConnection: Upgrade\r\n\r\n`,
      );
      socket.pipe(socket);
      return {
        status: 101,
        headers: {},
        body: { type: "upgraded", done: once(socket, "close").then(() => undefined) },
      };
    });
    const socket = await openTls(port);
    socket.write(ask);
    const [head] = await once(socket, "data");
    expect(String(head)).toMatch(/^HTTP\/1.1 101 /);
    socket.write("ping");
    expect(String((await once(socket, "data"))[0])).toBe("ping");
    socket.destroy();
  });

  it("answers a refusal in HTTP and closes", async () => {
    const { port } = await serve(async () => jsonResponse(403, "no"));
    const socket = await openTls(port);
    socket.write(ask);
    const text = await readAll(socket);
    expect(text).toMatch(/^HTTP\/1.1 403 /);
    expect(text).toMatch(/\r\n\r\nno$/);
  });
});

describe("bad input", () => {
  it.each([
    ["no HTTP at all", "hello\r\n\r\n", 400],
    ["a header without a name", "GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", 400],
    [
      "security book 34: two lengths",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      400,
    ],
    [
      "security book 34: length and chunks",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["security book 34: a folded header", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 400],
    ["a request without Host", "GET / HTTP/1.1\r\n\r\n", 400],
    ["a target without a path", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 400],
    ["more headers than allowed", `GET / HTTP/1.1\r\nHost: h\r\nX: ${"a".repeat(40_000)}\r\n\r\n`, 431],
  ])("answers %s, and closes", async (_title, text, status) => {
    const { port } = await serve(echo, { maxHeaderBytes: 32_000 });
    const socket = await openTls(port);
    socket.end(text);
    expect(await readAll(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect((await http1({ port, path: "/" })).status).toBe(200);
  });

  it("survives what is not TLS", async () => {
    const { port } = await serve(echo);
    const socket = connectTcp(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\n\r\n");
    await readAll(socket);
    expect((await http1({ port, path: "/" })).status).toBe(200);
  });

  it("security book 49: drops connections past the number of handshakes, and recovers", async () => {
    const { port } = await serve(echo, { maxHandshakes: 2 });
    const silent = [connectTcp(port, "127.0.0.1"), connectTcp(port, "127.0.0.1")];
    await Promise.all(silent.map((socket) => once(socket, "connect")));
    const third = connectTcp(port, "127.0.0.1");
    third.on("error", () => undefined);
    await once(third, "close");
    await Promise.all(silent.map((socket) => once(socket.end(), "close")));
    // Each answered request is proof that its handshake gave its place back.
    for (let times = 0; times < 4; times += 1) expect((await http1({ port, path: "/" })).status).toBe(200);
  });

  it.each([
    ["nothing at all", ""],
    ["half a header", "GET / HTTP/1.1\r\nHost: h\r\nX: "],
  ])("security book 50: gives up on a client that sends %s", async (_title, text) => {
    const { port } = await serve(echo, { headersTimeoutMs: 20 });
    const socket = await openTls(port);
    socket.write(text);
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 408 /);
  });

  it("security book 49: gives up on a handshake that does not go on", async () => {
    const { port } = await serve(echo, { handshakeTimeoutMs: 20 });
    const socket = connectTcp(port, "127.0.0.1");
    socket.on("error", () => undefined);
    await once(socket, "close");
    expect((await http1({ port, path: "/" })).status).toBe(200);
  });

  it("security book 47: takes headers and queries named like members of Object.prototype as plain names", async () => {
    const { port } = await serve(echo);
    const socket = await openTls(port);
    socket.end("GET /?__proto__=x HTTP/1.1\r\nHost: h\r\n__proto__: y\r\nConstructor: z\r\nConnection: close\r\n\r\n");
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 200 /);
    const session = openHttp2(port);
    cleanups.push(() => session.destroy());
    const headers = JSON.parse(`{":path":"/?constructor=x","__proto__":"y","constructor":"z"}`);
    expect((await http2(session, headers)).status).toBe(200);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it("security book 48: stays up under rapid reset", async () => {
    let running = 0;
    const { port } = await serve(async ({ signal }) => {
      running += 1;
      if (!signal.aborted) await once(signal, "abort");
      running -= 1;
      return jsonResponse(200, "");
    });
    const attacker = openHttp2(port);
    await once(attacker, "connect");
    for (let times = 0; times < 3000 && !attacker.destroyed && !attacker.closed; times += 1) {
      const stream = attacker.request({ ":path": "/" });
      stream.on("error", () => undefined);
      stream.close();
      if (times % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    attacker.destroy();
    const { transport } = await serve(echo);
    await transport.close({ drainMs: 0 });
    const session = openHttp2(port);
    const probe = session.request({ ":path": "/" });
    probe.on("error", () => undefined);
    await once(session, "remoteSettings");
    session.destroy();
    await expect.poll(() => running).toBe(0);
  });
});

describe("listening", () => {
  it("names the port that is in use", async () => {
    const { port } = await serve(echo);
    const second = createHttpTransport({
      tls,
      bindAddress: "127.0.0.1",
      port,
      handler: echo,
      scheduler: systemRuntime.scheduler,
      logger: silentLogger,
    });
    const error = await second.listen().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(AddressInUseError);
    expect(error.message).toContain(`port ${port} of 127.0.0.1 is in use`);
    await second.close({ drainMs: 0 });
  });

  it("uses new credentials for new connections", async () => {
    const { port, transport } = await serve(echo);
    const before = (await openTls(port)).getPeerX509Certificate()?.fingerprint256;
    transport.setCredentials(createTestCertificate());
    const after = (await openTls(port)).getPeerX509Certificate()?.fingerprint256;
    expect(after).not.toBe(before);
    const other = createTestCertificate();
    expect(() => transport.setCredentials({ key: tls.key, cert: other.cert })).toThrow();
    expect((await http1({ port, path: "/" })).status).toBe(200);
  });
});

describe("closing", () => {
  it.each(["http/1.1", "h2"])("finishes what is under way over %s and ends watches cleanly", async (protocol) => {
    const arrived = deferred();
    const watching = deferred();
    const release = deferred();
    const { port, transport } = await serve(async ({ path, serverStopping }) => {
      if (path === "/watch") {
        return {
          status: 200,
          headers: {},
          body: {
            type: "stream",
            run: async (sink) => {
              const stopping = once(serverStopping ?? expect.unreachable(), "abort");
              await sink.write("event\n");
              watching.resolve();
              await stopping;
            },
          },
        };
      }
      arrived.resolve();
      await release.promise;
      return jsonResponse(200, "finished");
    });
    const session = protocol === "h2" ? openHttp2(port) : undefined;
    const get = (path: string) => (session === undefined ? http1({ port, path }) : http2(session, { ":path": path }));
    const slow = get("/slow");
    const watch = get("/watch");
    await Promise.all([arrived.promise, watching.promise]);
    const closed = transport.close({ drainMs: 10_000 });
    expect(await watch).toMatchObject({ status: 200, body: "event\n" });
    release.resolve();
    expect((await slow).body).toBe("finished");
    await closed;
    session?.destroy();
    await expect(http1({ port, path: "/" })).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("closes idle connections at once, and cuts what outlasts the drain", async () => {
    const arrived = deferred();
    const { port, transport } = await serve(async ({ signal }) => {
      arrived.resolve();
      await once(signal, "abort");
      return jsonResponse(200, "");
    });
    const idle = await openTls(port);
    const session = openHttp2(port);
    await once(session, "connect");
    const stuck = http1({ port, path: "/" }).catch((error) => error.code);
    await arrived.promise;
    await transport.close({ drainMs: 1 });
    expect(await stuck).toBe("ECONNRESET");
    await Promise.all([readAll(idle), session.closed || once(session, "close")]);
  });
});

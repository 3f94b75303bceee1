import { once } from "node:events";
import { constants, type ServerHttp2Stream } from "node:http2";
import { Agent } from "node:https";
import { describe, expect, it, onTestFinished } from "vitest";
import { silentLogger } from "../../logging/logger.ts";
import { systemRuntime } from "../../runtime/system-runtime.ts";
import type { ApiRequest } from "../api-request.ts";
import { type ApiResponse, jsonResponse } from "../api-response.ts";
import type { ApiHandler } from "../exchange/serve-exchange.ts";
import { deferred } from "../testing/deferred.ts";
import { echo, serveHandler, serverCertificate } from "../testing/serve-handler.ts";
import { createTestCertificate } from "../testing/test-certificates.ts";
import { http1, http2, openHttp2, openTls, readAll } from "../testing/test-clients.ts";
import { createHttpTransport } from "./http-transport.ts";
import { AddressInUseError } from "./listen-error.ts";

describe("requests", () => {
  it("sees that a body is empty whose end comes before anybody reads it", async () => {
    const { port } = await serveHandler(async (request) => {
      for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
      return request.path === "/stream"
        ? jsonResponse(200, await readAll(request.bodyStream()))
        : jsonResponse(200, Buffer.from(await request.body(10)).toString());
    });
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    for (const path of ["/whole", "/stream"]) {
      const { status, body } = await http2(session, { ":path": path, ":method": "POST" }, "");
      expect([status, body]).toEqual([200, ""]);
    }
  });

  it("lets Node end an HTTP/2 stream with a body when its response has been written", async () => {
    const ends: Promise<boolean>[] = [];
    const { port } = await serveHandler(async (request) => {
      // Not known to handlers, and no test sees it from outside: what is ended too early waits for the collector.
      const { body: stream } = (request as unknown as { exchange: { body: ServerHttp2Stream } }).exchange;
      ends.push(once(stream, "close").then(() => stream.writableFinished));
      // The body has arrived as a whole.
      await new Promise((resolve) => setImmediate(resolve));
      return jsonResponse(200, Buffer.from(await request.body(100)).toString());
    });
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    const send = () => http2(session, { ":path": "/", ":method": "POST", "content-length": "5" }, "hello");
    for (const { body } of await Promise.all(Array.from({ length: 64 }, send))) expect(body).toBe("hello");
    expect(await Promise.all(ends)).toEqual(Array.from({ length: 64 }, () => true));
  });

  it("serves HTTP/1.1 and HTTP/2 on one port", async () => {
    const { port } = await serveHandler(echo);
    const one = await http1({ port, method: "POST", path: "/api/v1/pods?limit=5", body: "hello" });
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
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
    const { port } = await serveHandler(async (request) => {
      seen.push(request.peerCertificate());
      return jsonResponse(200, request.peerCertificate()?.subject ?? "none");
    });
    expect((await http1({ port, path: "/", ...client })).body).toContain("CN=alice");
    expect((await http1({ port, path: "/" })).body).toBe("none");
    const session = openHttp2(port, client);
    onTestFinished(() => session.destroy());
    expect((await http2(session, { ":path": "/" })).body).toContain("CN=alice");
    await http2(session, { ":path": "/" });
    expect(seen.at(-1)).toBe(seen.at(-2));
  });

  it("keeps repeated identity headers apart", async () => {
    const { port } = await serveHandler(echo);
    const lines = [
      "Authorization: Bearer a",
      "Authorization: Bearer b",
      "Impersonate-Group: x, y",
      "Impersonate-Group: z",
      "X-Remote-Group: x, y",
      "X-Remote-Group: z",
    ];
    const socket = await openTls(port);
    socket.end(`GET / HTTP/1.1\r\nHost: h\r\n${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`);
    const text = await readAll(socket);
    const expected = {
      authorization: ["Bearer a", "Bearer b"],
      "impersonate-group": ["x, y", "z"],
      "x-remote-group": ["x, y", "z"],
    };
    expect(JSON.parse(text.slice(text.indexOf("{"))).headers).toMatchObject(expected);
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    const two = await http2(session, { ":path": "/", "impersonate-group": ["x, y", "z"] });
    expect(JSON.parse(two.body).headers).toMatchObject({ "impersonate-group": ["x, y", "z"] });
  });

  it("takes a path of 70 kB", async () => {
    const { port } = await serveHandler(async (request) => jsonResponse(200, String(request.requestUri.length)));
    const path = `/api/v1/pods?labelSelector=${"a".repeat(70_000)}`;
    expect((await http1({ port, path })).body).toBe(String(path.length));
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    expect((await http2(session, { ":path": path })).body).toBe(String(path.length));
  });

  it("answers HEAD with the head alone", async () => {
    const { port } = await serveHandler(async () => jsonResponse(200, "body"));
    expect(await http1({ port, path: "/", method: "HEAD" })).toMatchObject({ status: 200, body: "" });
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    expect(await http2(session, { ":path": "/", ":method": "HEAD" })).toMatchObject({ status: 200, body: "" });
  });

  it("answers a bare 500 when the handler rejects, and serves further requests", async () => {
    const { port } = await serveHandler(async ({ path }) => {
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
    const { port } = await serveHandler(limited);
    expect(await http1({ port, method: "POST", path: "/", body: Buffer.alloc(1000) })).toMatchObject({ body: "1000" });
    expect(await http1({ port, method: "POST", path: "/", body: Buffer.alloc(3_000_000) })).toMatchObject(tooLarge);
    const chunked = { "transfer-encoding": "chunked" };
    expect(
      await http1({ port, method: "POST", path: "/", headers: chunked, body: Buffer.alloc(3_000_000) }),
    ).toMatchObject(tooLarge);
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    expect(await http2(session, { ":path": "/", ":method": "POST" }, Buffer.alloc(3_000_000))).toMatchObject(tooLarge);
    expect(await http2(session, { ":path": "/", ":method": "POST" }, Buffer.alloc(10))).toMatchObject({ body: "10" });
  });

  it("answers 408 to a client that stops in the middle (security book 50)", async () => {
    const { port } = await serveHandler(limited, { bodyStallTimeoutMs: 20 });
    const socket = await openTls(port);
    socket.write("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 408 /);
  });

  it("rejects the body when the client leaves in the middle", async () => {
    const [begun, failed] = [deferred<void>(), deferred<number>()];
    const { port } = await serveHandler(async (request) => {
      const body = Promise.resolve(request.body(1000));
      begun.resolve();
      await body.catch((error) => failed.resolve(error.code));
      return jsonResponse(200, "");
    });
    const socket = await openTls(port);
    socket.write("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    // Newer Nodes send nothing more of a socket that is destroyed.
    await begun.promise;
    socket.destroy();
    expect(await failed.promise).toBe(499);
  });
});

describe("listening", () => {
  it("names the port that is in use", async () => {
    const { port } = await serveHandler(echo);
    const second = createHttpTransport({
      tls: serverCertificate,
      bindAddress: "127.0.0.1",
      port,
      handler: echo,
      clock: systemRuntime.clock,
      scheduler: systemRuntime.scheduler,
      random: systemRuntime.random,
      logger: silentLogger,
    });
    const error = await second.listen().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(AddressInUseError);
    expect(error.message).toContain(`port ${port} of 127.0.0.1 is in use`);
    await second.close({ drainMs: 0 });
  });

  it("uses new credentials for new connections", async () => {
    const { port, transport } = await serveHandler(echo);
    const before = (await openTls(port)).getPeerX509Certificate()?.fingerprint256;
    transport.setCredentials(createTestCertificate());
    const after = (await openTls(port)).getPeerX509Certificate()?.fingerprint256;
    expect(after).not.toBe(before);
    const other = createTestCertificate();
    expect(() => transport.setCredentials({ key: serverCertificate.key, cert: other.cert })).toThrow();
    expect((await http1({ port, path: "/" })).status).toBe(200);
  });
});

describe("closing", () => {
  it.each(["http/1.1", "h2"])("finishes what is under way over %s and ends watches cleanly", async (protocol) => {
    const arrived = deferred();
    const watching = deferred();
    const release = deferred();
    const { port, transport } = await serveHandler(async ({ path, serverStopping }) => {
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
    const { port, transport } = await serveHandler(async ({ signal }) => {
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

describe("the chance of a GOAWAY", () => {
  it("ends the connection behind the requests that are under way on it", async () => {
    const arrived = deferred();
    const release = deferred();
    const handler: ApiHandler = async ({ path }) => {
      if (path === "/slow") {
        arrived.resolve();
        await release.promise;
      }
      return jsonResponse(200, path);
    };
    const { port } = await serveHandler(handler, {}, { goawayChance: 1 });
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    const ended = Promise.all([once(session, "goaway"), once(session, "close")]);
    const [slow, quick] = [http2(session, { ":path": "/slow" }), http2(session, { ":path": "/quick" })];
    await arrived.promise;
    expect([(await quick).status, session.destroyed]).toEqual([200, false]);
    release.resolve();
    expect((await slow).body).toBe("/slow");
    const [[code]] = await ended;
    expect(code).toBe(constants.NGHTTP2_NO_ERROR);
  });

  it("leaves connections of HTTP/1.1 alone, and all without a chance", async () => {
    const certain = await serveHandler(echo, {}, { goawayChance: 1 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
    onTestFinished(() => agent.destroy());
    expect((await http1({ port: certain.port, path: "/", agent })).headers["connection"]).toBe("keep-alive");
    const { port } = await serveHandler(echo);
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    for (let sent = 0; sent < 200; sent++) expect((await http2(session, { ":path": "/" })).status).toBe(200);
    expect([session.closed, session.destroyed]).toEqual([false, false]);
  });
});

describe("a listener that retires", () => {
  it("refuses no request of a connection, and ends it behind the requests", async () => {
    const arrived = deferred();
    const release = deferred();
    const { port, transport } = await serveHandler(async ({ path, serverStopping }) => {
      if (path !== "/slow") return jsonResponse(200, "quick");
      arrived.resolve();
      await release.promise;
      // Long requests are not asked to end.
      return jsonResponse(200, serverStopping?.aborted === true ? "stopping" : "finished");
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
    onTestFinished(() => agent.destroy());
    const kept = () => http1({ port, path: "/", agent });
    expect((await kept()).headers["connection"]).toBe("keep-alive");
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    const goneAway = once(session, "goaway");
    const slow = http2(session, { ":path": "/slow" });
    await arrived.promise;
    const silent = await openTls(port);
    await expect.poll(() => transport.departures.staying).toBe(3);
    const retired = transport.departures.retire();
    await goneAway;
    expect(transport.departures.staying).toBe(0);
    const last = await kept();
    expect([last.body, last.headers["connection"]]).toEqual(["quick", "close"]);
    await expect(http1({ port, path: "/" })).rejects.toMatchObject({ code: "ECONNREFUSED" });
    release.resolve();
    expect((await slow).body).toBe("finished");
    // Connections without a request are closed, too.
    await Promise.all([readAll(silent), retired]);
  });

  it("is cut by its close like any other", async () => {
    const arrived = deferred();
    const { port, transport } = await serveHandler(async ({ signal }) => {
      arrived.resolve();
      await once(signal, "abort");
      return jsonResponse(200, "");
    });
    const stuck = http1({ port, path: "/" }).catch((error) => error.code);
    await arrived.promise;
    const retired = transport.departures.retire();
    await transport.close({ drainMs: 1 });
    expect(await stuck).toBe("ECONNRESET");
    await retired;
  });
});

it("moves the given number of connections: they end behind their next answer, and new ones are taken", async () => {
  const { port, transport } = await serveHandler(echo);
  const agents = [0, 1, 2].map(() => new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false }));
  onTestFinished(() => {
    for (const agent of agents) agent.destroy();
  });
  const all = async () => {
    const answers = await Promise.all(agents.map((agent) => http1({ port, path: "/", agent })));
    return answers.map(({ headers }) => headers["connection"]).toSorted();
  };
  await all();
  transport.departures.move(2);
  expect(transport.departures.staying).toBe(1);
  expect(await all()).toEqual(["close", "close", "keep-alive"]);
  expect(await all()).toEqual(["keep-alive", "keep-alive", "keep-alive"]);
  await expect.poll(() => transport.departures.staying).toBe(3);
});

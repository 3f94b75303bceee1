import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { JoinedBody, jsonResponse } from "../api-response.ts";
import { deferred } from "../testing/deferred.ts";
import { serveHandler, streamResponse } from "../testing/serve-handler.ts";
import { http1, http2, openHttp2, openTls, readAll } from "../testing/test-clients.ts";

describe("streaming responses", () => {
  it("sends the head before the first byte of the body", async () => {
    const go = deferred();
    const { port } = await serveHandler(async () =>
      streamResponse(async (sink) => {
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
    onTestFinished(() => session.destroy());
    expect((await http2(session, { ":path": "/" })).body).toBe("event\n");
  });

  it.each([3, 300_000])("sends several buffers as one body of known length (%d bytes each)", async (size) => {
    const parts = ["a", "b", "c"].map((letter) => Buffer.alloc(size, letter));
    const body = new JoinedBody(parts);
    const { port } = await serveHandler(() => ({ ...jsonResponse(200, ""), body }));
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    const answers = [await http1({ port, path: "/" }), await http2(session, { ":path": "/" })];
    for (const { headers, body: received } of answers) {
      expect(headers["content-length"]).toBe(String(3 * size));
      expect(received === Buffer.concat(parts).toString()).toBe(true);
    }
    // The connection is as it was before.
    expect((await http2(session, { ":path": "/" })).body).toHaveLength(3 * size);
    const socket = await openTls(port);
    const get = "GET / HTTP/1.1\r\nHost: h\r\n";
    socket.write(`${get}\r\n${get}Connection: close\r\n\r\n`);
    const both = await readAll(socket);
    expect(both.match(/HTTP\/1.1 200 OK\r\n/g)).toHaveLength(2);
    expect(both.endsWith(`\r\n\r\n${Buffer.concat(parts)}`)).toBe(true);
  });

  it("runs the body of a response whose head cannot be sent, for nobody", async () => {
    const run = deferred<boolean>();
    const { port } = await serveHandler(async () => {
      const response = streamResponse(async (sink, signal) => run.resolve(signal.aborted && !(await sink.write("x"))));
      return { ...response, headers: { "x-broken": "a\nb" } };
    });
    await http1({ port, path: "/" }).catch(() => undefined);
    expect(await run.promise).toBe(true);
  });

  it.each(["http/1.1", "h2"])("waits for a slow client of %s, and stops when it leaves", async (protocol) => {
    const blocked = deferred<number>();
    const finished = deferred<boolean>();
    const { port } = await serveHandler(async (request) =>
      streamResponse(async (sink) => {
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
    const { port } = await serveHandler(async () =>
      streamResponse(async (sink) => {
        await sink.write("half");
        throw new Error("no more");
      }),
    );
    if (protocol === "h2") {
      const session = openHttp2(port);
      onTestFinished(() => session.destroy());
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
    const { port } = await serveHandler(async ({ signal }) => {
      arrived.resolve();
      await once(signal, "abort");
      aborted.resolve(signal.reason);
      return jsonResponse(200, "too late");
    });
    if (protocol === "h2") {
      const session = openHttp2(port);
      onTestFinished(() => session.destroy());
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
    const { port } = await serveHandler(async ({ signal }) => {
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
    const { port } = await serveHandler(async (request) => {
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
    const { port } = await serveHandler(async () => jsonResponse(403, "no"));
    const socket = await openTls(port);
    socket.write(ask);
    const text = await readAll(socket);
    expect(text).toMatch(/^HTTP\/1.1 403 /);
    expect(text).toMatch(/\r\n\r\nno$/);
  });
});

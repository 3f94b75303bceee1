import { once } from "node:events";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { connect as connectTcp } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { manualTime } from "../../runtime/testing/manual-time.ts";
import { jsonResponse } from "../api-response.ts";
import { echo, serveHandler } from "../testing/serve-handler.ts";
import { http1, http2, openHttp2, openTls, readAll } from "../testing/test-clients.ts";

const PING_MS = 30_000;

describe("bad input", () => {
  it.each([
    ["no HTTP at all", "hello\r\n\r\n", 400],
    ["an unknown method with a body", "FOO /apis HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab", 405],
    ["an unknown method with a body in chunks", "FOO / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", 405],
    [
      "an unknown method with more behind it",
      "FOO / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
      405,
    ],
    ["an unknown method without Host", "FOO / HTTP/1.1\r\nX: y\r\n\r\n", 405],
    ["an unknown method with two Hosts", "FOO / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", 405],
    ["an unknown method with a folded header", "FOO / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 405],
    ["an unknown method with a space before the colon", "FOO / HTTP/1.1\r\nHost: h\r\nX : a\r\n\r\n", 405],
    ["half a request of an unknown method", "FOO / HTTP/1.1\r\nHost: h\r\n", 405],
    ["a header without a name", "GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", 400],
    [
      "two lengths (security book 34)",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      400,
    ],
    [
      "length and chunks (security book 34)",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
    ["a folded header (security book 34)", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 400],
    ["a request without Host", "GET / HTTP/1.1\r\n\r\n", 400],
    ["a request with two Hosts", "GET / HTTP/1.1\r\nHost: h\r\nhost: i\r\n\r\n", 400],
    ["a target without a path", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 400],
    ["more headers than allowed", `GET / HTTP/1.1\r\nHost: h\r\nX: ${"a".repeat(40_000)}\r\n\r\n`, 431],
  ])("answers %s, and closes", async (_title, text, status) => {
    const { port } = await serveHandler(echo, { maxHeaderBytes: 32_000 });
    const socket = await openTls(port);
    socket.end(text);
    expect(await readAll(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect((await http1({ port, path: "/" })).status).toBe(200);
  });

  it("passes on an unknown method with its headers, and closes the connection", async () => {
    const { port } = await serveHandler(echo);
    const socket = await openTls(port);
    socket.write(
      "FOO /apis?a=b HTTP/1.1\r\nHost: h\r\nAuthorization:  Bearer x \r\nContent-Length: 0\r\nAccept: a\r\n\r\n",
    );
    const text = await readAll(socket);
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n/);
    expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n")))).toMatchObject({
      method: "FOO",
      path: "/apis",
      query: { a: "b" },
      headers: { authorization: "Bearer x", accept: "a" },
      body: "",
    });
  });

  it("ends the connection of a head that is too long (security book 50)", async () => {
    const { port } = await serveHandler(echo);
    const socket = await openTls(port);
    socket.write(`GET ${"/a".repeat(10_000)} HTTP/1.1\r\nHost: h\r\n\r\n`);
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 414 .*\r\nconnection: close\r\n/is);
  });

  it.each<[title: string, head: { path: string; headers?: Record<string, string | string[]> }, status: number]>([
    ["a path of many segments", { path: "/a".repeat(10_000) }, 414],
    ["a query of many parameters", { path: `/?${"a&".repeat(20_000)}` }, 414],
    ["a header of many items", { path: "/", headers: { accept: "a/b,".repeat(20_000) } }, 431],
    ["a header that comes many times", { path: "/", headers: { x: Array<string>(20).fill("y".repeat(4_000)) } }, 431],
    ["a selector of 130,000 characters", { path: `/?labelSelector=${"a".repeat(130_000)}` }, 200],
    ["thousands of arguments of a command", { path: `/?${"command=a&".repeat(4_000)}` }, 200],
    ["a token of 16 kB", { path: "/", headers: { authorization: `Bearer ${"a".repeat(16_000)}` } }, 200],
  ])("does not parse what is not needed: %s (security book 50)", async (_title, { path, headers = {} }, status) => {
    const handler = vi.fn(echo);
    const { port } = await serveHandler(handler);
    expect((await http1({ port, path, headers })).status).toBe(status);
    // Longer ones do not exist in HTTP/2 as nghttp2 reads it.
    if (path.length < 64_000) {
      const session = openHttp2(port);
      onTestFinished(() => session.destroy());
      expect((await http2(session, { ":path": path, ...headers })).status).toBe(status);
    }
    expect(handler.mock.calls.length > 0).toBe(status === 200);
  });

  it("survives what is not TLS", async () => {
    const { port } = await serveHandler(echo);
    const socket = connectTcp(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\n\r\n");
    await readAll(socket);
    expect((await http1({ port, path: "/" })).status).toBe(200);
  });

  it("ends the oldest of too many handshakes, and lets newer ones in (security book 49)", async () => {
    const { port } = await serveHandler(echo, { maxHandshakes: 2, sourceShare: 1 });
    const silent = [connectTcp(port, "127.0.0.1"), connectTcp(port, "127.0.0.1")];
    await Promise.all(silent.map((socket) => once(socket, "connect")));
    const [oldest] = silent;
    const ended = oldest && once(oldest.resume(), "close");
    // The others stay, and each answered request is proof that its handshake gave its place back.
    expect((await http1({ port, path: "/" })).status).toBe(200);
    await ended;
    await Promise.all(silent.slice(1).map((socket) => once(socket.end(), "close")));
    for (let times = 0; times < 4; times += 1) expect((await http1({ port, path: "/" })).status).toBe(200);
  });

  it.each([
    ["nothing at all", ""],
    ["half a header", "GET / HTTP/1.1\r\nHost: h\r\nX: "],
  ])("gives up on a client that sends %s (security book 50)", async (_title, text) => {
    const { port } = await serveHandler(echo, { headersTimeoutMs: 20 });
    const socket = await openTls(port);
    socket.write(text);
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 408 /);
  });

  it("answers all of many clients that come at once, some of whose handshakes have to wait", async () => {
    const { port } = await serveHandler(echo);
    const answers = await Promise.all(Array.from({ length: 60 }, () => http1({ port, path: "/" })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });

  it("takes large requests that come with the end of their handshakes", async () => {
    const { port } = await serveHandler(async (request) =>
      jsonResponse(200, String((await request.body(1 << 20)).length)),
    );
    const body = "x".repeat(60_000);
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => http1({ port, method: "POST", path: "/", body })),
    );
    expect(answers.map((answer) => answer.body)).toEqual(answers.map(() => "60000"));
  });

  it("gives up on a handshake that does not go on (security book 49)", async () => {
    const { port } = await serveHandler(echo, { handshakeTimeoutMs: 200 });
    const socket = connectTcp(port, "127.0.0.1");
    socket.on("error", () => undefined);
    await once(socket, "close");
    // On a busy machine an honest handshake may be as slow, once or twice.
    await vi.waitFor(async () => expect((await http1({ port, path: "/" })).status).toBe(200), { timeout: 60_000 });
  });

  it("takes headers and queries named like members of Object.prototype as plain names (security book 47)", async () => {
    const { port } = await serveHandler(echo);
    const socket = await openTls(port);
    socket.end("GET /?__proto__=x HTTP/1.1\r\nHost: h\r\n__proto__: y\r\nConstructor: z\r\nConnection: close\r\n\r\n");
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 200 /);
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    const headers = JSON.parse(`{":path":"/?constructor=x","__proto__":"y","constructor":"z"}`);
    expect((await http2(session, headers)).status).toBe(200);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  const frame = (type: number, flags: number, stream: number, payload: readonly number[]) =>
    Buffer.from([0, 0, payload.length, type, flags, 0, 0, stream >> 8, stream & 0xff, ...payload]);

  /** Sends frames of HTTP/2 in one write. Resolves with all that came until the server ended the connection. */
  async function sentBack(port: number, frames: readonly Buffer[]) {
    const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    onTestFinished(() => void socket.destroy());
    const ended = new Promise<string>((resolve) => {
      const chunks: Buffer[] = [];
      socket.on("data", (chunk) => chunks.push(chunk));
      socket.on("error", () => undefined).on("close", () => resolve(Buffer.concat(chunks).toString()));
    });
    socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, []), ...frames]));
    return ended;
  }

  /** Opens so many streams with a GET and resets each. */
  const rapidReset = (port: number, streams: number) =>
    // HEADERS with GET, https and / of the static table of HPACK, and an authority; RST_STREAM with CANCEL.
    sentBack(
      port,
      Array.from({ length: streams }, (_, index) => [
        frame(1, 5, 1 + 2 * index, [0x82, 0x87, 0x84, 0x01, 1, 0x68]),
        frame(3, 0, 1 + 2 * index, [0, 0, 0, constants.NGHTTP2_CANCEL]),
      ]).flat(),
    );

  it("begins a request, or counts that it was taken back (security book 48)", async () => {
    const onTakenBack = vi.fn();
    const handler = vi.fn(() => jsonResponse(200, ""));
    const { port } = await serveHandler(handler, {}, { onTakenBack });
    void rapidReset(port, 200);
    await expect.poll(() => handler.mock.calls.length + onTakenBack.mock.calls.length).toBe(200);
    expect(onTakenBack).toHaveBeenCalled();
  });

  it("ends a connection that opens far more streams than are allowed at once (security book 48)", async () => {
    const { port } = await serveHandler(() => jsonResponse(200, ""), { maxConcurrentStreams: 5 });
    expect(await rapidReset(port, 200)).toContain("too many requests or frames");
    expect((await http1({ port, path: "/" })).status).toBe(200);
  });

  it("gives up on all requests of a client that is gone, those it has sent ahead too (security book 50)", async () => {
    let [begun, aborted] = [0, 0];
    const { port } = await serveHandler(
      ({ signal }) =>
        new Promise((resolve) => {
          begun++;
          signal.addEventListener("abort", () => {
            aborted++;
            resolve(jsonResponse(200, ""));
          });
        }),
    );
    const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false });
    await once(socket, "secureConnect");
    socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(20));
    await expect.poll(() => begun).toBe(20);
    socket.destroy();
    await expect.poll(() => aborted).toBe(20);
  });

  it.each<[title: string, fail: (session: ClientHttp2Session, socket: TLSSocket) => void]>([
    ["whose clients are gone", (_session, socket) => socket.destroy()],
    ["that report an error", (session) => session.goaway(constants.NGHTTP2_INTERNAL_ERROR)],
  ])("ends the streams of sessions %s in turns (security book 48)", async (_title, fail) => {
    let turn = 0;
    const count = (): void => {
      turn++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    onTestFinished(() => clearImmediate(counting));
    const endedIn = new Map<number, number>();
    let begun = 0;
    const { port } = await serveHandler(async (request) => {
      begun++;
      // Connections of one user are read in turns: here each has its own.
      request.know?.(request.path);
      await once(request.signal, "abort");
      endedIn.set(turn, (endedIn.get(turn) ?? 0) + 1);
      return jsonResponse(200, "");
    });
    const sockets = Array.from({ length: 6 }, () =>
      connectTls({ port, ALPNProtocols: ["h2"], rejectUnauthorized: false }),
    );
    const sessions = sockets.map((socket) => connect(`https://127.0.0.1:${port}`, { createConnection: () => socket }));
    for (const [number, session] of sessions.entries()) {
      onTestFinished(() => session.destroy());
      session.on("error", () => undefined);
      for (let each = 0; each < 150; each++) session.request({ ":path": `/${number}` }).on("error", () => undefined);
    }
    await expect.poll(() => begun).toBe(900);
    for (const [number, socket] of sockets.entries()) fail(sessions[number] as ClientHttp2Session, socket);
    await expect.poll(() => [...endedIn.values()].reduce((sum, streams) => sum + streams, 0)).toBe(900);
    expect([...endedIn.values()]).toEqual(Array<number>(6).fill(150));
  });

  it("ends a connection whose client changes its mind without an end (security book 48)", async () => {
    const { port } = await serveHandler(() => jsonResponse(200, ""));
    const windows = Array.from({ length: 100 }, (_, index) => frame(4, 0, 0, [0, 4, 0, 0, 0xff, index % 2]));
    expect(await sentBack(port, windows)).toContain("too many requests or frames");
  });

  it.each([
    ["goes on after a frame that ends its session", true],
    ["answers nothing, as one that has lost its network", false],
  ])("ends the connection of a known client that %s, and of no other (security book 48)", async (_, isBroken) => {
    let known = 0;
    const time = manualTime();
    const { port, transport } = await serveHandler(
      (request) => {
        request.know?.("good");
        known++;
        return jsonResponse(200, "");
      },
      { pingMs: PING_MS },
      { scheduler: time.scheduler },
    );
    const other = openHttp2(port);
    onTestFinished(() => other.destroy());
    expect((await http2(other, { ":path": "/" })).status).toBe(200);
    const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    onTestFinished(() => void socket.destroy());
    await once(socket, "secureConnect");
    const closed = once(socket.resume(), "close");
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    socket.write(frame(4, 0, 0, []));
    // GET /, and a frame of more than the 16,384 bytes that one may have. Of SETTINGS on a stream Node would take notice.
    socket.write(frame(1, 5, 1, [0x82, 0x84, 0x87, 0x41, 1, 0x61]));
    await expect.poll(() => known).toBe(2);
    if (isBroken) socket.write(Buffer.from([0, 0x4e, 0x20, 0, 0, 0, 0, 0, 1]));
    // Two that one of them leaves unanswered, and the end.
    for (let times = 0; times < 3; times++) {
      const pinged = times < 2 ? once(other, "ping") : undefined;
      time.advance(PING_MS);
      await pinged;
      // Answered after the ping was, on the same connection.
      expect((await http2(other, { ":path": "/" })).status).toBe(200);
    }
    await closed;
    expect((await http2(other, { ":path": "/" })).status).toBe(200);
    other.destroy();
    await transport.close({ drainMs: 0 });
  });

  it("lets a known client wait for one stranger, not for one from each of many addresses (security book 50)", async () => {
    const begun: string[] = [];
    const { port } = await serveHandler((request) => {
      if (request.path === "/known") request.know?.("good");
      begun.push(request.path);
      // Longer than a turn: whatever comes after it has to wait for its own.
      for (const until = performance.now() + 12; performance.now() < until; );
      return jsonResponse(200, "");
    });
    const open = async (address: string) => {
      const tcp = connectTcp({ host: "127.0.0.1", port, localAddress: address });
      const socket = connectTls({ socket: tcp, rejectUnauthorized: false });
      onTestFinished(() => void socket.destroy());
      await once(socket.resume(), "secureConnect");
      return (path: string) => void socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`);
    };
    const known = await open("127.0.0.1");
    known("/known");
    await expect.poll(() => begun).toEqual(["/known"]);
    const strangers = await Promise.all(Array.from({ length: 30 }, (_, number) => open(`127.0.2.${number + 1}`)));
    // All of them are there when the server next looks.
    for (const send of strangers) send("/stranger");
    known("/known");
    await expect.poll(() => begun.length, { timeout: 20_000 }).toBe(32);
    expect(begun.lastIndexOf("/known")).toBeLessThan(5);
  });

  it("stays up under rapid reset (security book 48)", async () => {
    let running = 0;
    const { port } = await serveHandler(async ({ signal }) => {
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
    const { transport } = await serveHandler(echo);
    await transport.close({ drainMs: 0 });
    const session = openHttp2(port);
    const probe = session.request({ ":path": "/" });
    probe.on("error", () => undefined);
    await once(session, "remoteSettings");
    session.destroy();
    await expect.poll(() => running).toBe(0);
  });
});

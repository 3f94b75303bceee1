// Connections that leave HTTP on their way through the proxy: SPDY/3.1 as kubectl has spoken it for years, and WebSockets.

import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { deferred } from "@postern/apiserver/transport/testing/deferred";
import {
  clientFrame,
  OPCODES,
  openHttp2WebSocket,
  serverMessages,
} from "@postern/apiserver/transport/testing/http2-web-socket";
import { http1, openHttp2, openTls } from "@postern/apiserver/transport/testing/test-clients";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { BASE, type ServeProxyOptions, serveProxy } from "./testing/serve-proxy.ts";
import { serveUpstream, type TestUpstream } from "./testing/serve-upstream.ts";

const EXEC = `${BASE}/api/v1/namespaces/default/pods/web/exec?command=sh&command=-c&stdin=true`;
const CALLERS_KEY = "pst_callers_access_key";
const SWITCHING = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n";

const targetOf = (upstream: TestUpstream) => ({
  ...upstream,
  server: upstream.url,
  credential: { bearerToken: "own" },
});

type OnUpgrade = (socket: Duplex, request: IncomingMessage, head: Buffer) => void;

/** A target whose side of an upgraded connection is raw. */
async function serveSpdy(
  onUpgrade: OnUpgrade,
  { plain = false, ...options }: ServeProxyOptions & { plain?: boolean } = {},
) {
  const upstream = await serveUpstream((_request, response) => void response.writeHead(404).end("no upgrade"), {
    plain,
  });
  upstream.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.allowHalfOpen = true;
    socket.on("error", () => undefined);
    onUpgrade(socket, request, head);
  });
  return { upstream, ...(await serveProxy(targetOf(upstream), options)) };
}

/** Speaks HTTP/1.1 as far as the head of the response; what follows is in `rest`. */
async function askToUpgrade(port: number, headers: readonly string[] = [], path = EXEC, protocol = "SPDY/3.1") {
  const socket = await openTls(port);
  socket.allowHalfOpen = true;
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  const lines = [`POST ${path} HTTP/1.1`, "Host: localhost", "Connection: Upgrade", `Upgrade: ${protocol}`, ...headers];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  return { socket, head: await readHead(socket) };
}

function readHead(socket: TLSSocket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const settle = (head: string): void => {
      socket.off("data", onData).off("end", onEnd).off("close", onEnd).pause();
      resolve(head);
    };
    const onEnd = (): void => settle(text);
    const onData = (chunk: Buffer): void => {
      text += chunk.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      settle(text.slice(0, end));
      const rest = text.slice(end + 4);
      if (rest !== "") socket.unshift(Buffer.from(rest, "latin1"));
    };
    socket.on("data", onData).on("end", onEnd).on("close", onEnd);
  });
}

/** Everything until the other side's end. Iterating over the socket would close our side as well. */
function collect(socket: Duplex): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const done = (): void => resolve(Buffer.concat(chunks).toString());
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("end", done).on("close", done).resume();
  });
}

describe("SPDY", () => {
  test("carries bytes both ways, those behind the headers included", async () => {
    const { port } = await serveSpdy((socket, _request, head) => {
      socket.write(`${SWITCHING}\r\nfirst `);
      socket.write(head);
      socket.pipe(socket);
    });
    const { socket, head } = await askToUpgrade(port);
    expect(head).toMatch(/^HTTP\/1\.1 101 /);
    expect(head.toLowerCase()).toContain("upgrade: spdy/3.1");
    socket.write(Buffer.from([0, 1, 2, 0x80, 0xff]));
    socket.end("last");
    expect(await collect(socket)).toBe(
      Buffer.concat([Buffer.from("first "), Buffer.from([0, 1, 2, 0x80, 0xff]), Buffer.from("last")]).toString(),
    );
  });

  test("arrives as the caller with the target's credential, and with what was asked for", async () => {
    const seen = deferred<IncomingMessage>();
    const { port } = await serveSpdy((socket, request) => {
      seen.resolve(request);
      socket.end(`${SWITCHING}X-Stream-Protocol-Version: v4.channel.k8s.io\r\nSet-Cookie: a=b\r\n\r\n`);
    });
    const { head } = await askToUpgrade(port, [
      `Authorization: Bearer ${CALLERS_KEY}`,
      "Impersonate-User: admin",
      "X-Stream-Protocol-Version: v5.channel.k8s.io",
      "X-Stream-Protocol-Version: v4.channel.k8s.io",
    ]);
    expect(head).toContain("x-stream-protocol-version: v4.channel.k8s.io");
    expect(head.toLowerCase()).not.toContain("set-cookie");
    const { url, headers, rawHeaders } = await seen.promise;
    expect(url).toBe("/api/v1/namespaces/default/pods/web/exec?command=sh&command=-c&stdin=true");
    expect(headers).toMatchObject({ authorization: "Bearer own", "impersonate-user": "alice", upgrade: "SPDY/3.1" });
    expect(rawHeaders.filter((_, at) => rawHeaders[at - 1]?.toLowerCase() === "x-stream-protocol-version")).toEqual([
      "v5.channel.k8s.io",
      "v4.channel.k8s.io",
    ]);
    expect(JSON.stringify(rawHeaders)).not.toContain(CALLERS_KEY);
  });

  test("keeps a connection half open: the target answers after the caller's end", async () => {
    const { port } = await serveSpdy((socket) => {
      socket.write(`${SWITCHING}\r\n`);
      void collect(socket).then((all) => socket.end(`got ${all}`));
    });
    const { socket } = await askToUpgrade(port);
    socket.end("everything");
    expect(await collect(socket)).toBe("got everything");
  });

  test("keeps a connection half open: the caller goes on after the target's end", async () => {
    const received = deferred<string>();
    const { port } = await serveSpdy((socket) => {
      socket.end(`${SWITCHING}\r\nbye`);
      void collect(socket).then(received.resolve);
    });
    const { socket } = await askToUpgrade(port);
    expect(await collect(socket)).toBe("bye");
    socket.end("still here");
    expect(await received.promise).toBe("still here");
  });

  test("frees its place when both sides have ended", async () => {
    const { port, connections } = await serveSpdy((socket) => {
      socket.write(`${SWITCHING}\r\nopen`);
      socket.resume().once("end", () => socket.end());
    });
    const { socket } = await askToUpgrade(port);
    expect(connections.active).toBe(1);
    socket.destroy();
    await expect.poll(() => connections.active).toBe(0);
  });

  test("lets the caller go when the target breaks off", async () => {
    const { port, connections } = await serveSpdy(
      (socket) => {
        socket.write(`${SWITCHING}\r\nopen`);
        socket.once("data", () => (socket as Socket).resetAndDestroy());
      },
      { plain: true },
    );
    const { socket } = await askToUpgrade(port);
    socket.write("go");
    await collect(socket);
    await expect.poll(() => connections.active).toBe(0);
  });

  test("lets the target go when the caller has ended, and nothing comes any more", async () => {
    const { port, connections } = await serveSpdy(
      (socket) => {
        socket.write(`${SWITCHING}\r\nopen`);
        socket.resume().once("end", () => socket.write("more"));
      },
      { halfOpenTimeoutMs: 30 },
    );
    const { socket } = await askToUpgrade(port);
    expect(String((await once(socket.resume(), "data"))[0])).toBe("open");
    socket.end();
    expect(await collect(socket)).toBe("more");
    await expect.poll(() => connections.active).toBe(0);
  });

  test("security book 15: is cut on both sides when the caller's key is revoked", async () => {
    const targetClosed = deferred();
    const { port, requests, connections } = await serveSpdy((socket) => {
      socket.write(`${SWITCHING}\r\nopen`);
      socket
        .resume()
        .once("end", () => targetClosed.resolve())
        .once("close", () => targetClosed.resolve());
    });
    const { socket } = await askToUpgrade(port);
    const closed = new Promise((resolve) => socket.once("end", resolve).once("close", resolve));
    socket.resume();
    requests.at(-1)?.abort?.(unauthorizedError());
    await Promise.all([closed, targetClosed.promise]);
    await expect.poll(() => connections.active).toBe(0);
  });

  test("a reader that is slow slows the other side, and memory stays flat", async () => {
    const total = 128 << 20;
    let produced = 0;
    const { port } = await serveSpdy(async (socket) => {
      socket.write(`${SWITCHING}\r\n`);
      const chunk = Buffer.alloc(64 << 10, "x");
      for (; produced < total; produced += chunk.length) {
        if (!socket.write(chunk)) await once(socket, "drain");
      }
      socket.end();
    });
    const { socket } = await askToUpgrade(port);
    let consumed = 0;
    let largestGap = 0;
    for await (const chunk of socket) {
      consumed += chunk.length;
      largestGap = Math.max(largestGap, produced - consumed);
      await new Promise(setImmediate);
    }
    expect(consumed).toBe(total);
    expect(largestGap).toBeLessThan(24 << 20);
  });

  test("is bounded in number", async () => {
    const { port } = await serveSpdy(
      (socket) => {
        socket.write(`${SWITCHING}\r\n`);
        socket.resume().once("end", () => socket.end());
      },
      { limits: { maxUpgrades: 1 } },
    );
    const first = await askToUpgrade(port);
    const refused = await askToUpgrade(port);
    expect(refused.head).toMatch(/^HTTP\/1\.1 503 /);
    first.socket.destroy();
    await expect.poll(async () => (await askToUpgrade(port)).head).toMatch(/^HTTP\/1\.1 101 /);
  });
});

describe("security book 30: an upgrade that the target does not make", () => {
  test.each([
    ["HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nno way", 403],
    ["HTTP/1.1 200 OK\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 6\r\n\r\nno way", 200],
    ["HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\nno way", 500],
  ])("is handed on as the response it is, and both connections are closed: %j", async (answer, code) => {
    const targetClosed = deferred();
    const { port, connections } = await serveSpdy((socket) => {
      socket.write(answer);
      if (code === 500) socket.end();
      socket
        .resume()
        .once("end", () => socket.end())
        .once("close", () => targetClosed.resolve());
    });
    const { socket, head } = await askToUpgrade(port);
    expect(head).toContain(`HTTP/1.1 ${code} `);
    // What a hostile caller sends next must not become a request with the platform's credential.
    socket.write("GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await collect(socket)).toContain("no way");
    socket.end();
    await targetClosed.promise;
    await expect.poll(() => connections.active).toBe(0);
  });

  test.each([
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n",
  ])("is 502 where it goes over to something else: %j", async (answer) => {
    const { port } = await serveSpdy((socket) => void socket.write(answer));
    expect((await askToUpgrade(port)).head).toMatch(/^HTTP\/1\.1 502 /);
  });

  test("is not followed to where it redirects", async () => {
    const { port } = await serveSpdy((socket) => {
      socket.end("HTTP/1.1 302 Found\r\nLocation: https://evil.example.com/\r\nContent-Length: 0\r\n\r\n");
    });
    const { head } = await askToUpgrade(port);
    expect(head).toMatch(/^HTTP\/1\.1 502 /);
    expect(head).not.toContain("evil.example.com");
  });

  test("is refused when the request has a body", async () => {
    const { port, connections } = await serveSpdy(() => undefined);
    expect((await askToUpgrade(port, ["Content-Length: 5"])).head).toMatch(/^HTTP\/1\.1 400 /);
    expect(connections.active).toBe(0);
  });

  test("of a protocol that Kubernetes does not speak is an ordinary request", async () => {
    const { port } = await serveSpdy(() => undefined);
    const { head } = await askToUpgrade(port, [], `${BASE}/version`, "h2c");
    expect(head).toMatch(/^HTTP\/1\.1 404 /);
  });

  test("is cut when the key is revoked while the target thinks about it", async () => {
    const arrived = deferred();
    const { port, requests } = await serveSpdy(() => arrived.resolve());
    const answered = askToUpgrade(port);
    await arrived.promise;
    requests.at(-1)?.abort?.(unauthorizedError());
    expect((await answered).head).toMatch(/^HTTP\/1\.1 401 /);
  });

  test("is 503 when the target is down", async () => {
    const { port } = await serveProxy({ server: "https://127.0.0.1:1", credential: {} });
    expect((await askToUpgrade(port)).head).toMatch(/^HTTP\/1\.1 503 /);
    expect((await http1({ port, path: `${BASE}/version` })).status).toBe(503);
  });
});

describe("WebSockets", () => {
  const BEARER = `base64url.bearer.authorization.k8s.io.${Buffer.from(CALLERS_KEY).toString("base64url")}`;

  async function serveEcho(options: ServeProxyOptions = {}) {
    const upstream = await serveUpstream((_request, response) => void response.writeHead(404).end());
    const requests: IncomingMessage[] = [];
    const sockets = new WebSocketServer({ server: upstream.server as never });
    onTestFinished(() => sockets.close());
    sockets.on("connection", (socket, request) => {
      requests.push(request);
      socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
    });
    const ofTarget = () => [...sockets.clients];
    return { seen: requests, ofTarget, ...(await serveProxy(targetOf(upstream), options)) };
  }

  function open(port: number, protocols: string[], options: object = {}): WebSocket {
    const socket = new WebSocket(`wss://127.0.0.1:${port}${EXEC}`, protocols, {
      rejectUnauthorized: false,
      ...options,
    });
    onTestFinished(() => socket.terminate());
    socket.on("error", () => undefined);
    return socket;
  }

  test("carry v5 channels as they are, the close of a channel included", async () => {
    const { port } = await serveEcho();
    const socket = open(port, ["v5.channel.k8s.io"]);
    await once(socket, "open");
    expect(socket.protocol).toBe("v5.channel.k8s.io");
    const stdin = Buffer.concat([Buffer.from([0]), Buffer.alloc(200_000, "in")]);
    const closeOfStdin = Buffer.from([255, 0]);
    for (const frame of [stdin, closeOfStdin]) {
      socket.send(frame);
      const [echoed] = await once(socket, "message");
      expect(Buffer.compare(echoed as Buffer, frame)).toBe(0);
    }
    socket.close(1000, "done");
    const [code, reason] = await once(socket, "close");
    expect([code, String(reason)]).toEqual([1000, "done"]);
  });

  test("security book 37: the subprotocol with the caller's token stays here", async () => {
    const { port, seen } = await serveEcho();
    const socket = open(port, [BEARER, "v5.channel.k8s.io", "v4.channel.k8s.io"]);
    await once(socket, "open");
    expect(seen[0]?.headers["sec-websocket-protocol"]).toBe("v5.channel.k8s.io, v4.channel.k8s.io");
    expect(JSON.stringify(seen[0]?.rawHeaders)).not.toContain(BEARER);
    expect(seen[0]?.headers).toMatchObject({ authorization: "Bearer own", "impersonate-user": "alice" });
  });

  test.each([
    ["https://evil.example.com", 403],
    ["null", 403],
    ["https://127.0.0.1.evil.example.com", 403],
  ])("security book 37: pages of other origins are refused: %s", async (origin, code) => {
    const { port, seen } = await serveEcho();
    const [, response] = await once(open(port, ["v5.channel.k8s.io"], { origin }), "unexpected-response");
    expect(response.statusCode).toBe(code);
    expect(seen).toEqual([]);
  });

  test("security book 37: pages of the platform's own origin and of allowed ones are let through", async () => {
    const isAllowedOrigin = (origin: string) => origin === "https://console.example.com";
    const { port, seen } = await serveEcho({ isAllowedOrigin });
    for (const origin of [`https://127.0.0.1:${port}`, "https://console.example.com"]) {
      await once(open(port, ["v5.channel.k8s.io"], { origin }), "open");
    }
    expect(seen.map(({ headers }) => headers.origin)).toEqual([undefined, undefined]);
  });

  test("that a target says yes to without having read the key are refused", async () => {
    const answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
    const { port } = await serveSpdy((socket) => void socket.write(`${answer}Sec-WebSocket-Accept: bm8=\r\n\r\n`));
    const headers = ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];
    expect((await askToUpgrade(port, headers, EXEC, "websocket")).head).toMatch(/^HTTP\/1\.1 502 /);
  });

  describe("over HTTP/2", () => {
    function openSession(port: number) {
      const session = openHttp2(port);
      onTestFinished(() => session.destroy());
      return session;
    }

    test.each(["v4.channel.k8s.io", "v5.channel.k8s.io"])(
      "carry %s channels to a target over HTTP/1.1",
      async (name) => {
        const { port, seen } = await serveEcho();
        const { stream, headers } = await openHttp2WebSocket(openSession(port), EXEC, {
          "sec-websocket-protocol": `${BEARER}, ${name}`,
          authorization: `Bearer ${CALLERS_KEY}`,
        });
        expect(headers).toMatchObject({ ":status": 200, "sec-websocket-protocol": name });
        expect(seen[0]?.headers).toMatchObject({ authorization: "Bearer own", "impersonate-user": "alice" });
        expect(seen[0]?.headers["sec-websocket-protocol"]).toBe(name);
        expect(JSON.stringify(seen[0]?.rawHeaders)).not.toMatch(new RegExp(`${CALLERS_KEY}|${BEARER}`));
        const messages = serverMessages(stream);
        for (const frame of [Buffer.concat([Buffer.from([0]), Buffer.alloc(200_000, "in")]), Buffer.from([255, 0])]) {
          stream.write(clientFrame(OPCODES.binary, frame));
          expect(Buffer.compare((await messages.next()).value.payload, frame)).toBe(0);
        }
        stream.write(clientFrame(OPCODES.close, Buffer.from([3, 232])));
        expect((await messages.next()).value.opcode).toBe(OPCODES.close);
      },
    );

    test("get the target's refusal, and no connection", async () => {
      const { port, connections } = await serveSpdy((socket) => {
        socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nno way");
      });
      const { stream, headers } = await openHttp2WebSocket(openSession(port), EXEC);
      expect(headers[":status"]).toBe(403);
      expect(await collect(stream)).toBe("no way");
      await expect.poll(() => connections.active).toBe(0);
    });

    test("security book 15: are cut on both sides when the caller's key is revoked, and nothing else of the connection", async () => {
      const { port, requests, ofTarget, connections } = await serveEcho();
      const session = openSession(port);
      const { stream } = await openHttp2WebSocket(session, EXEC);
      const revoked = requests.at(-1);
      const other = await openHttp2WebSocket(session, EXEC);
      expect(ofTarget()).toHaveLength(2);
      const closed = once(stream.resume(), "close");
      revoked?.abort?.(unauthorizedError());
      await closed;
      await expect.poll(() => [ofTarget().length, connections.active]).toEqual([1, 1]);
      other.stream.write(clientFrame(OPCODES.text, "still"));
      expect(String((await serverMessages(other.stream).next()).value.payload)).toBe("still");
    });

    test("let the target go when the caller resets the stream", async () => {
      const { port, ofTarget, connections } = await serveEcho();
      const { stream } = await openHttp2WebSocket(openSession(port), EXEC);
      stream.close(8);
      await expect.poll(() => [ofTarget().length, connections.active]).toEqual([0, 0]);
    });
  });
});

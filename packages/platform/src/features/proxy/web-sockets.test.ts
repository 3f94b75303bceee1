// WebSockets through the proxy, over HTTP/1.1 and over HTTP/2: channels, tokens in subprotocols, origins, and their end.

import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import {
  clientFrame,
  OPCODES,
  openHttp2WebSocket,
  serverMessages,
} from "@postern/apiserver/transport/testing/http2-web-socket";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { CALLERS_KEY, openSession, type ServeProxyOptions, serveProxy } from "./testing/serve-proxy.ts";
import { askToUpgrade, collect, EXEC, serveSpdy, targetOf } from "./testing/serve-upgrades.ts";
import { serveUpstream } from "./testing/serve-upstream.ts";

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

  test("the subprotocol with the caller's token stays here (security book 37)", async () => {
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
  ])("pages of other origins are refused: %s (security book 37)", async (origin, code) => {
    const { port, seen } = await serveEcho();
    const [, response] = await once(open(port, ["v5.channel.k8s.io"], { origin }), "unexpected-response");
    expect(response.statusCode).toBe(code);
    expect(seen).toEqual([]);
  });

  test("pages of the platform's own origin and of allowed ones are let through (security book 37)", async () => {
    const isAllowedOrigin = (origin: string) => origin === "https://console.example.com";
    const { port, seen } = await serveEcho({ isAllowedOrigin });
    for (const origin of [`https://127.0.0.1:${port}`, "https://console.example.com"]) {
      await once(open(port, ["v5.channel.k8s.io"], { origin }), "open");
    }
    expect(seen.map(({ headers }) => headers.origin)).toEqual([undefined, undefined]);
  });

  test("that a target accepts without having read the key are refused", async () => {
    const answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n";
    const { port } = await serveSpdy((socket) => void socket.write(`${answer}Sec-WebSocket-Accept: bm8=\r\n\r\n`));
    const headers = ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];
    expect((await askToUpgrade(port, headers, EXEC, "websocket")).head).toMatch(/^HTTP\/1\.1 502 /);
  });

  describe("over HTTP/2", () => {
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

    test("are closed on both sides when the caller's key is revoked, without the rest of the connection (security book 15)", async () => {
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

// A watch has a subscription from before its response on: however the handshake ends, it has to be given back.

import { once } from "node:events";
import { connect } from "node:tls";
import { expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import type { ApiRequest } from "../../transport/api-request.ts";
import { deferred } from "../../transport/testing/deferred.ts";
import { serveHandler } from "../../transport/testing/serve-handler.ts";
import { webSocketResponse, webSocketUpgrade } from "./watch-websocket.ts";

const KEY = { "sec-websocket-version": "13", "sec-websocket-key": Buffer.alloc(16, 7).toString("base64") };

async function upgradeTo(port: number, headers: Readonly<Record<string, string>>) {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  onTestFinished(() => void socket.destroy());
  await once(socket, "secureConnect");
  const lines = Object.entries({ host: "x", connection: "Upgrade", upgrade: "websocket", ...headers });
  socket.write(`GET /watch HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
  return socket;
}

/** The calls of `run`, with whether there was a client then. */
function recorded() {
  const ended = deferred<boolean>();
  const run = vi.fn(async (_sink: unknown, signal: AbortSignal) => {
    ended.resolve(signal.aborted);
    if (!signal.aborted) await once(signal, "abort");
  });
  return { run, ended: ended.promise };
}

it("runs the watch of a client that has gone before it is answered, and fails with 499", async () => {
  const { run, ended } = recorded();
  const failed = deferred<unknown>();
  const arrived = deferred<void>();
  const { port } = await serveHandler(async (request) => {
    const upgrade = webSocketUpgrade(request) ?? expect.unreachable();
    arrived.resolve();
    await once(request.signal, "abort");
    try {
      return await webSocketResponse(request, upgrade, run, "json");
    } catch (error) {
      failed.resolve(error);
      throw error;
    }
  });
  const socket = await upgradeTo(port, KEY);
  await arrived.promise;
  socket.destroy();
  expect(await failed.promise).toMatchObject({ code: 499 });
  expect(await ended).toBe(true);
  expect(run).toHaveBeenCalledTimes(1);
});

it("runs the watch of a handshake that is refused", async () => {
  const { run, ended } = recorded();
  const { port } = await serveHandler((request) =>
    webSocketResponse(request, webSocketUpgrade(request) ?? expect.unreachable(), run, "json"),
  );
  const socket = await upgradeTo(port, { "sec-websocket-version": "13" });
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
  expect(await ended).toBe(true);
  expect(run).toHaveBeenCalledTimes(1);
});

it("runs the watch of a client that reads it", async () => {
  const { run, ended } = recorded();
  const { port } = await serveHandler((request) =>
    webSocketResponse(request, webSocketUpgrade(request) ?? expect.unreachable(), run, "json"),
  );
  const socket = await upgradeTo(port, KEY);
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(String(answer)).toMatch(/^HTTP\/1\.1 101 /);
  expect(await ended).toBe(false);
  expect(run).toHaveBeenCalledTimes(1);
});

it.each(["json", "protobuf"] as const)("sends each line or frame as a message, however long (%s)", async (format) => {
  const contents = ["ä".repeat(300_000), "b", "c".repeat(200_000)].map((text) => Buffer.from(text));
  const framed = contents.flatMap((content) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(content.length);
    return format === "json" ? [content, Buffer.from("\n")] : [length, content];
  });
  const { port } = await serveHandler((request) =>
    webSocketResponse(
      request,
      webSocketUpgrade(request) ?? expect.unreachable(),
      async (sink) => void (await sink.write(Buffer.concat(framed))),
      format,
    ),
  );
  const client = new WebSocket(`wss://127.0.0.1:${port}/watch`, { rejectUnauthorized: false });
  const received: { readonly content: Buffer; readonly isBinary: boolean }[] = [];
  client.on("message", (content: Buffer, isBinary) => received.push({ content, isBinary }));
  const [code] = await once(client, "close");
  expect(code).toBe(1000);
  expect(received.map(({ isBinary }) => isBinary)).toEqual(Array(3).fill(format === "protobuf"));
  expect(received.map(({ content }, at) => content.equals(contents[at] ?? content.subarray(1)))).toEqual(
    Array(3).fill(true),
  );
});

it("refuses the choice of a subprotocol before anything is subscribed to", () => {
  const upgrade = { protocol: "websocket", accept: () => expect.unreachable() };
  const request = { upgrade, headers: { "sec-websocket-protocol": "a, b" } } as unknown as ApiRequest;
  expect(() => webSocketUpgrade(request)).toThrow("at most one WebSocket subprotocol");
});

// Hundreds of megabytes on each way that streams can take through the server, at the memory that it has anyway. By day two of the ways;
// EVERY_CASE=1 takes them all.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { request as httpsRequest } from "node:https";
import {
  clientFrame,
  OPCODES,
  openHttp2WebSocket,
  serverMessages,
} from "@postern/apiserver/transport/testing/http2-web-socket";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import { namedCasesOf } from "../../tools/test-cost/by-night.ts";
import { POD_PATH, type ProxiedPod, proxyPod } from "./testing/proxied-pod.ts";

const TOTAL = 200_000_000;
const LOG = `${POD_PATH}/log?follow=true&limitBytes=${TOTAL}`;
const EXEC = `${POD_PATH}/exec?stdout=true&command=head&command=-c&command=${TOTAL}&command=/dev/zero`;
const UPLOAD = `${POD_PATH}/exec?stdin=true&stdout=true&command=wc&command=-c`;

let proxied: ProxiedPod;

beforeAll(async () => {
  proxied = await proxyPod();
});
afterAll(() => proxied?.[Symbol.asyncDispose]());

const login = () => ({ authorization: `Bearer ${proxied.admin}` });

/** Resident memory of the server, in bytes. */
async function residentBytes(): Promise<number> {
  const pages = Number((await readFile(`/proc/${proxied.server.pid}/statm`, "utf8")).split(" ")[1]);
  return pages * 4096;
}

/** By how much it grew at most while `work` ran. */
async function growthDuring(work: () => Promise<void>): Promise<number> {
  const before = await residentBytes();
  let highest = before;
  let isOver = false;
  const running = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    highest = Math.max(highest, await residentBytes());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await running;
  return highest - before;
}

async function count(stream: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0;
  for await (const chunk of stream) bytes += chunk.length;
  return bytes;
}

async function openSession() {
  const session = connectHttp2(proxied.server.url, { ca: await readFile(proxied.server.caFile) });
  session.on("error", () => undefined);
  return session;
}

const ways: { readonly [way: string]: () => Promise<number> } = {
  "a response over HTTP/1.1": async () => {
    const request = httpsRequest(`${proxied.server.url}${LOG}`, {
      ca: await readFile(proxied.server.caFile),
      headers: login(),
    }).end();
    const [response] = await once(request, "response");
    return await count(response);
  },
  "a response over HTTP/2": async () => {
    const session = await openSession();
    const bytes = await count(session.request({ ":path": LOG, ...login() }));
    session.destroy();
    return bytes;
  },
  "a WebSocket over HTTP/1.1": async () => {
    const address = `${proxied.server.url}${EXEC}`.replace("https", "wss");
    const socket = new WebSocket(address, ["v5.channel.k8s.io"], {
      ca: await readFile(proxied.server.caFile),
      headers: login(),
    });
    let bytes = 0;
    // The first byte of a message says which of the program's streams it is of.
    socket.on("message", (data: Buffer) => {
      if (data[0] === 1) bytes += data.length - 1;
    });
    await once(socket, "close");
    return bytes;
  },
  "a WebSocket over HTTP/2": async () => {
    const session = await openSession();
    const asked = { "sec-websocket-protocol": "v5.channel.k8s.io", ...login() };
    const { stream } = await openHttp2WebSocket(session, EXEC, asked);
    let bytes = 0;
    for await (const content of programOutput(stream)) bytes += content.length;
    session.destroy();
    return bytes;
  },
  "the way up a WebSocket over HTTP/2": async () => {
    const session = await openSession();
    const asked = { "sec-websocket-protocol": "v5.channel.k8s.io", ...login() };
    const { stream } = await openHttp2WebSocket(session, UPLOAD, asked);
    const answer = readText(programOutput(stream));
    const frame = clientFrame(OPCODES.binary, Buffer.alloc(1_000_001));
    for (let sent = 0; sent < TOTAL; sent += 1_000_000) if (!stream.write(frame)) await once(stream, "drain");
    stream.write(clientFrame(OPCODES.binary, Buffer.from([255, 0])));
    const bytes = Number(await answer);
    session.destroy();
    return bytes;
  },
};

/** Standard output of the program. Answers a close frame as the pod does, which waits half a minute for that. */
async function* programOutput(stream: ClientHttp2Stream): AsyncGenerator<Buffer> {
  for await (const { opcode, payload } of serverMessages(stream)) {
    if (opcode === OPCODES.close) stream.write(clientFrame(OPCODES.close, payload));
    else if (payload[0] === 1) yield payload.subarray(1);
  }
}

async function readText(chunks: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of chunks) text += chunk.toString();
  return text;
}

const BY_DAY = ["a response over HTTP/2", "a WebSocket over HTTP/1.1"];
const tried = namedCasesOf(Object.keys(ways), (way) => way, BY_DAY);

it.each(tried)("take %s at flat memory", async (way) => {
  const bytes = await growthDuring(async () => {
    // Frames are a little more than what they carry.
    expect(await ways[way]?.()).toBeGreaterThanOrEqual(TOTAL);
  });
  expect(bytes).toBeLessThan(100_000_000);
});

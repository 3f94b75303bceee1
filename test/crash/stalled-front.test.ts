// A thread that serves requests stands still while requests of HTTP/2 with data wait for it. Node aborts the process where such a thread is only terminated
// (nodejs/node#38418).

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, type TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { adminKey, httpClient } from "../e2e/testing/http-client.ts";
import { REPOSITORY, startPostern, temporaryDirectory } from "../e2e/testing/postern-process.ts";

const CONNECTIONS = 64;
const PATIENCE = { timeout: 60_000, interval: 100 };

function frame(type: number, flags: number, stream: number, body: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

const [DATA, HEADERS, SETTINGS] = [0, 1, 4];
const [ACK, END_STREAM, END_HEADERS] = [1, 1, 4];
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
const NOTHING = Buffer.alloc(0);
const OPENING = [
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(SETTINGS, 0, 0, NOTHING),
  frame(SETTINGS, ACK, 0, NOTHING),
];
/** `:method: POST`, `:scheme: https` and `:path: /` of the static table of HPACK, and an authority. */
const POST = Buffer.concat([Buffer.from([0x83, 0x87, 0x84, 0x41, 4]), Buffer.from("host")]);
const REQUEST = [frame(HEADERS, END_HEADERS, 1, POST), frame(DATA, END_STREAM, 1, Buffer.alloc(500, "x"))];

async function open(port: number, ca: Buffer): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", ca, ALPNProtocols: ["h2"] });
  // The end of the thread cuts it.
  socket.on("error", () => {}).resume();
  await once(socket, "secureConnect");
  socket.write(Buffer.concat(OPENING));
  return socket;
}

it("another thread takes its place, and the server goes on", async () => {
  await using directory = await temporaryDirectory();
  await using server = await startPostern(directory.path, ["--threads", "2", "--connections-share-percent", "100"], {
    env: { NODE_OPTIONS: `--import=${REPOSITORY}test/crash/testing/stalled-front.mjs` },
  });
  const [http, key, ca] = [await httpClient(server), await adminKey(server), await readFile(server.caFile)];
  const port = Number(new URL(server.url).port);
  // Those of the first further thread are about half.
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(port, ca)));
  await pause(500);
  process.kill(server.pid, "SIGUSR2");
  // Behind the byte with which it stands still, and before it reads that.
  await pause(2_000);
  for (const socket of sockets) socket.write(Buffer.concat(REQUEST));
  await expect.poll(() => server.output(), PATIENCE).toContain("a front ended, and is started again");
  const restarts = async (): Promise<string> =>
    await http("/metrics", { key }).then(
      ({ text }) => text,
      // The thread of the connection may be the one that ends.
      () => "",
    );
  await expect.poll(restarts, PATIENCE).toMatch(/postern_front_restarts_total\{reason="stalled"\} 1/);
  await expect.poll(restarts, PATIENCE).toMatch(/^postern_fronts 2$/m);
  for (const socket of sockets) socket.destroy();
  expect(await server.stop()).toBe(0);
});

// A real thread that stands still in JavaScript while it has connections.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { endStill, stopReadingIn } from "./stop-reading.ts";

/** The thread reports each byte that it has read. The byte "s" keeps it busy until its shared memory is changed. */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
const go = new Int32Array(workerData);
const server = require("node:net").createServer((socket) => {
  socket.on("data", (data) => {
    parentPort.postMessage(String(data));
    if (String(data) === "s") while (Atomics.load(go, 0) === 0);
  });
}).listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

async function start() {
  const go = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(THREAD, { eval: true, workerData: go.buffer, name: "front-1" });
  const read: string[] = [];
  const [port] = (await once(worker, "message")) as [number];
  worker.on("message", (text: string) => void read.push(text));
  const sockets = await Promise.all(
    [0, 1].map(async () => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      return socket;
    }),
  );
  return { worker, go, read, sockets: sockets as [Socket, Socket] };
}

it("a thread in a loop reads from no connection any more, and one that has ended is none", async () => {
  const { worker, go, read, sockets } = await start();
  const [one, other] = sockets;
  other.write("a");
  await expect.poll(() => read).toEqual(["a"]);
  one.write("s");
  await expect.poll(() => read).toEqual(["a", "s"]);
  other.write("b");
  await stopReadingIn(worker);
  Atomics.store(go, 0, 1);
  // The thread runs on: its event loop answers.
  const { active } = worker.performance.eventLoopUtilization();
  await expect.poll(() => worker.performance.eventLoopUtilization().active).toBeGreaterThan(active);
  for (const socket of sockets) socket.write("c");
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(read).toEqual(["a", "s"]);
  for (const socket of sockets) socket.destroy();
  await worker.terminate();
  await stopReadingIn(worker);
});

it("other threads of the process read on", async () => {
  await using running = {
    ...(await start()),
    async [Symbol.asyncDispose]() {
      for (const socket of running.sockets) socket.destroy();
      await running.worker.terminate();
    },
  };
  const stopped = await start();
  await stopReadingIn(stopped.worker);
  running.sockets[0].write("a");
  await expect.poll(() => running.read).toEqual(["a"]);
  for (const socket of stopped.sockets) socket.destroy();
  await stopped.worker.terminate();
});

it("none attaches to threads while another one ends", async () => {
  const done: string[] = [];
  const exits: (() => void)[] = [];
  const ends = ["one", "other"].map((name, threadId) =>
    endStill(
      {
        threadId,
        terminate: () => new Promise((resolve) => exits.push(() => resolve(done.push(`${name} exits`)))),
      },
      async () => void done.push(`${name} reads no more`),
    ),
  );
  await expect.poll(() => exits.length).toBe(1);
  expect(done).toEqual(["one reads no more"]);
  exits[0]?.();
  await expect.poll(() => exits.length).toBe(2);
  exits[1]?.();
  await Promise.all(ends);
  expect(done).toEqual(["one reads no more", "one exits", "other reads no more", "other exits"]);
});

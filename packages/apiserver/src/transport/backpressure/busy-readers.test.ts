import type { TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { serveHandler } from "../testing/serve-handler.ts";
import { openTlsFor, readAll } from "../testing/test-clients.ts";
import { type BusyReaders, createBusyReaders } from "./busy-readers.ts";

const MIB = 1 << 20;

/** A clock that the test moves: each step is the shortest wait that is due. */
function steps() {
  let next: { ms: number; task: () => void } | undefined;
  return {
    scheduler: {
      schedule(ms: number, task: () => void) {
        const own = { ms, task };
        next = own;
        return {
          [Symbol.dispose]: () => {
            if (next === own) next = undefined;
          },
        };
      },
    },
    isWaiting: () => next !== undefined,
    /** Returns the milliseconds that have passed. */
    step(): number {
      const due = next;
      next = undefined;
      due?.task();
      return due?.ms ?? 0;
    },
  };
}

function reader(busy: BusyReaders, user?: string) {
  const own = { isRead: true, bytesRead: 0, ends: 0 };
  const socket = {
    get bytesRead() {
      return own.bytesRead;
    },
    _handle: {
      readStop: () => {
        own.isRead = false;
      },
      readStart: () => {
        own.isRead = true;
      },
    },
  } as unknown as TLSSocket;
  const joined = busy.join({ socket, user: () => user, end: () => void own.ends++ });
  return Object.assign(own, joined);
}

/** Each connection sends so many bytes between two steps in which it is read. Returns which are read after each step. */
function run(users: readonly (string | undefined)[], bytes: readonly number[], use = 1, count = 6) {
  const { scheduler, step } = steps();
  const busy = createBusyReaders(scheduler, () => use);
  const readers = users.map((user) => reader(busy, user));
  const seen: string[] = [];
  for (let each = 0; each < count; each++) {
    for (const [number, own] of readers.entries()) if (own.isRead) own.bytesRead += bytes[number] ?? 0;
    step();
    seen.push(readers.map(({ isRead }) => (isRead ? "x" : "-")).join(""));
  }
  return { seen, readers };
}

it("while the loop is busy, one connection at a time is read of many that bring much (security book 48)", () => {
  expect(run([undefined, undefined, undefined], [2 * MIB, 2 * MIB, 2 * MIB]).seen).toEqual([
    "xxx",
    "---",
    "x--",
    "-x-",
    "--x",
    "x--",
  ]);
});

it("connections that bring little, of another user, or alone are read on (security book 48)", () => {
  expect(run(["a", "a", "a", "b"], [3 * MIB, 3 * MIB, 1_000, 3 * MIB]).seen.slice(1, 4)).toEqual([
    "--xx",
    "x-xx",
    "-xxx",
  ]);
  expect(run(["a", "a"], [MIB, MIB]).seen.every((read) => read === "xx")).toBe(true);
});

it("nothing is held while the loop has time (security book 48)", () => {
  expect(run([undefined, undefined], [4 * MIB, 4 * MIB], 0.4).seen.every((read) => read === "xx")).toBe(true);
});

it("a connection without a credential is ended after 32 MiB, and one of a user is not (security book 48)", () => {
  const { readers } = run([undefined, "a"], [9 * MIB, 9 * MIB], 1, 5);
  expect(readers.map(({ ends }) => ends > 0)).toEqual([true, false]);
});

it("held connections are read again once they bring little, and nothing waits for those that have left", () => {
  const { scheduler, step, isWaiting } = steps();
  const busy = createBusyReaders(scheduler, () => 1);
  const all = [reader(busy), reader(busy)];
  for (let each = 0; each < 2; each++) {
    for (const own of all) own.bytesRead += 3 * MIB;
    step();
  }
  expect(all.map(({ isRead }) => isRead)).toEqual([false, false]);
  step();
  step();
  expect(all.map(({ isRead }) => isRead)).toEqual([true, true]);
  for (const own of all) own[Symbol.dispose]();
  expect(isWaiting()).toBe(false);
});

const frame = (type: number, body: readonly number[]): Buffer =>
  Buffer.from([0, 0, body.length, type, 0, 0, 0, 0, 0, ...body]);
const WINDOW_UPDATE = frame(8, [0, 0, 0, 1]);

it("ends a connection without a credential that sends frames without an end (security book 48)", async () => {
  const { port } = await serveHandler(async () => {
    throw new Error("no request is sent");
  });
  const socket = await openTlsFor("h2", port);
  const end = readAll(socket);
  socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, [])]));
  const frames = Buffer.concat(Array<Buffer>(5_000).fill(WINDOW_UPDATE));
  let isEnded = false;
  const ended = end.then((text) => {
    isEnded = true;
    return text;
  });
  let sent = 0;
  while (!isEnded && sent < 1_024 * MIB) {
    if (!socket.write(frames)) await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), ended]);
    sent += frames.length;
  }
  expect(await ended).toContain("too many requests or frames on one connection");
});

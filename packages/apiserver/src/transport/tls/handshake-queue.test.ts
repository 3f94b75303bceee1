import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { createHandshakeQueue } from "./handshake-queue.ts";

function startQueue() {
  let now = 0;
  const timers: { readonly at: number; readonly task: () => void }[] = [];
  const begun: Socket[] = [];
  const dropped: Socket[] = [];
  const queue = createHandshakeQueue({
    clock: { elapsed: () => now },
    scheduler: {
      schedule(delayMs, task) {
        timers.push({ at: now + delayMs, task });
        return { [Symbol.dispose]: () => undefined };
      },
    },
    start: (socket) => void begun.push(socket),
    drop(socket) {
      dropped.push(socket);
      queue.leave(socket);
    },
  });
  return {
    queue,
    begun,
    dropped,
    arrive(count: number, source = "192.0.2.1", bytesRead = 2_000): readonly Socket[] {
      return Array.from({ length: count }, () => {
        // The queue pauses it, and asks how much it has read.
        const socket = { bytesRead, pause: () => undefined } as unknown as Socket;
        queue.arrive(socket, source);
        return socket;
      });
    },
    /** All timers run at its end. */
    stall(milliseconds: number): void {
      now += milliseconds;
      for (const { task } of timers.splice(0)) task();
    },
    pass(milliseconds: number): void {
      const end = now + milliseconds;
      for (;;) {
        const due = timers.findIndex(({ at }) => at <= end);
        const [timer] = due < 0 ? [] : timers.splice(due, 1);
        if (timer === undefined) break;
        now = Math.max(now, timer.at);
        timer.task();
      }
      now = end;
    },
  };
}

describe("handshakes of one source", () => {
  it("wait for each other beyond sixteen", () => {
    const { queue, begun, arrive } = startQueue();
    const sockets = arrive(40);
    expect(begun).toEqual(sockets.slice(0, 16));
    for (const socket of sockets.slice(0, 10)) queue.leave(socket);
    expect(begun).toEqual(sockets.slice(0, 26));
    for (const socket of sockets) queue.leave(socket);
    expect(begun).toEqual(sockets);
  });

  it("do not wait for those of other sources, nor where a credential was valid in the last hour", () => {
    const { queue, begun, arrive, pass } = startQueue();
    arrive(40);
    expect(arrive(1, "192.0.2.2")).toEqual(begun.slice(16));
    queue.prove("192.0.2.3");
    arrive(100, "192.0.2.3");
    expect(begun).toHaveLength(17 + 100);
    pass(61 * 60_000);
    const before = begun.length;
    arrive(17, "192.0.2.3");
    expect(begun.length - before).toBe(0);
  });

  it("give way if they make no headway", () => {
    const { begun, dropped, arrive, pass } = startQueue();
    const silent = arrive(16);
    const [good] = arrive(1);
    pass(249);
    expect([begun.length, dropped.length]).toEqual([16, 0]);
    pass(1);
    expect(dropped).toEqual([silent[0]]);
    expect(begun.at(-1)).toBe(good);
  });

  it("come one by one, with pauses, after one with a long chain of certificates", () => {
    const { queue, begun, dropped, arrive, pass } = startQueue();
    queue.prove("192.0.2.1");
    const [costly] = arrive(1, "192.0.2.1", 96 << 10);
    queue.leave(costly as Socket);
    const next = arrive(3, "192.0.2.1", 96 << 10);
    expect(begun).toEqual([costly]);
    pass(96 * 4 - 1);
    expect(begun).toHaveLength(1);
    pass(1);
    expect(begun).toEqual([costly, next[0]]);
    queue.leave(next[0] as Socket);
    expect(begun).toHaveLength(2);
    pass(96 * 4);
    expect(begun).toEqual([costly, next[0], next[1]]);
    expect(dropped).toEqual([]);
    queue.leave(next[1] as Socket);
    pass(96 * 4);
    queue.leave(next[2] as Socket);
    pass(61_000);
    const before = begun.length;
    arrive(20);
    expect(begun.length - before).toBe(20);
  });

  it("may be followed at once by a large request", () => {
    const { queue, begun, arrive } = startQueue();
    const [client] = arrive(1, "192.0.2.1", 60 << 10);
    queue.done(client as Socket, () => 2_000);
    arrive(16);
    expect(begun).toHaveLength(17);
    queue.done(begun[1] as Socket, () => 60 << 10);
    arrive(1);
    expect(begun).toHaveLength(18);
    const [costly] = arrive(1, "192.0.2.9", 60 << 10);
    queue.done(costly as Socket, () => 58 << 10);
    arrive(1, "192.0.2.9");
    expect(begun).toHaveLength(19);
  });

  it("do not give way where the event loop had no time for them", () => {
    const { begun, dropped, arrive, pass, stall } = startQueue();
    arrive(17);
    stall(1_000);
    expect([begun.length, dropped.length]).toEqual([16, 0]);
    pass(250);
    expect(dropped).toHaveLength(1);
  });

  it("are forgotten when they are closed before they begin", () => {
    const { queue, begun, arrive } = startQueue();
    const sockets = arrive(18);
    queue.leave(sockets[16] as Socket);
    queue.leave(sockets[0] as Socket);
    expect(begun.at(-1)).toBe(sockets[17]);
  });
});

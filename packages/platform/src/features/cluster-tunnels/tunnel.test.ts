// A tunnel over a socket, with a clock that stands still.

import { once } from "node:events";
import { createServer } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { TUNNEL_PING } from "@postern/api/cluster-tunnel";
import { expect, it } from "vitest";
import { openTunnel } from "./tunnel.ts";

/** A tunnel to an agent that answers pings. `timers`: the work that waits, with its milliseconds. */
async function openTo(onChange: () => void = () => undefined) {
  const agent = createServer().listen(0, "127.0.0.1");
  agent.on("session", (session) => session.on("error", () => undefined));
  agent.on("stream", (stream) => stream.on("error", () => undefined));
  await once(agent, "listening");
  const socket = connect((agent.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  const timers = new Map<() => void, number>();
  const clock = { elapsed: 0 };
  const tunnel = openTunnel(socket, Buffer.alloc(0), {
    clock: { now: () => 0, elapsed: () => clock.elapsed },
    scheduler: {
      schedule(milliseconds: number, work: () => void) {
        timers.set(work, milliseconds);
        return { [Symbol.dispose]: () => void timers.delete(work) };
      },
    } as never,
    agent: { id: "a", version: "1" },
    onChange,
  });
  return { agent, tunnel, timers, clock };
}

it("reports a round trip that changes much, and not each ping", async () => {
  let changes = 0;
  const { agent, tunnel, timers, clock } = await openTo(() => changes++);
  const answered = () => expect.poll(() => [...timers.values()]).toEqual([TUNNEL_PING.intervalMs]);
  await answered();
  for (const roundTrip of [3, 4, 100, 101]) {
    for (const work of [...timers.keys()]) work();
    clock.elapsed += roundTrip;
    await answered();
  }
  expect([changes, tunnel.roundTripMs]).toEqual([2, 100]);
  tunnel[Symbol.dispose]();
  await tunnel.closed;
  agent.close();
});

it("opens streams beyond those that may have much unread once the agent has acknowledged that each may have less", async () => {
  const { agent, tunnel } = await openTo();
  const windows: number[] = [];
  let asked = 0;
  agent.on("stream", (stream) => {
    asked += 1;
    windows.push(stream.session?.remoteSettings.initialWindowSize ?? 0);
    stream.respond({ ":status": 200 });
  });
  const opened: string[] = [];
  for (let count = 0; count < 300; count++)
    tunnel.open((error, socket) => {
      opened.push(error?.message ?? "open");
      socket?.on("error", () => undefined);
    });
  expect(tunnel.streams).toBe(300);
  await expect.poll(() => opened.length).toBe(300);
  expect([asked, new Set(opened), Math.min(...windows)]).toEqual([300, new Set(["open"]), 64 << 10]);
  // The first ones came before the agent knew.
  expect(windows.filter((bytes) => bytes === 512 << 10).length).toBeLessThanOrEqual(33);
  tunnel[Symbol.dispose]();
  await tunnel.closed;
  agent.close();
});

it("fails the streams that wait where it is closed, also before it has begun", async () => {
  const { agent, tunnel } = await openTo();
  const failed: (string | undefined)[] = [];
  for (let count = 0; count < 40; count++) tunnel.open((...[error]) => void failed.push(error?.message));
  tunnel[Symbol.dispose]();
  await tunnel.closed;
  await expect.poll(() => failed).toEqual(Array.from({ length: 40 }, () => expect.any(String)));
  agent.close();
});

it("is closed where the agent does not answer a request of its own", async () => {
  const { agent, tunnel, timers } = await openTo();
  const asked = once(agent, "stream");
  const before = new Set(timers.keys());
  const asking = tunnel.ask("POST", "/rotate", new AbortController().signal);
  const refused = expect(asking).rejects.toThrow("the agent does not answer");
  const made = [...timers.keys()].filter((each) => !before.has(each));
  await asked;
  expect(made).toHaveLength(1);
  for (const work of made) work();
  await refused;
  await tunnel.closed;
  expect(made.filter((each) => timers.has(each))).toEqual([]);
  agent.close();
});

// A tunnel over a socket, with a clock that stands still.

import { once } from "node:events";
import { createServer } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { expect, it } from "vitest";
import { openTunnel } from "./tunnel.ts";

it("is closed where the agent does not answer a request of its own", async () => {
  const agent = createServer().listen(0, "127.0.0.1");
  agent.on("session", (session) => session.on("error", () => undefined));
  agent.on("stream", (stream) => stream.on("error", () => undefined));
  await once(agent, "listening");
  const asked = once(agent, "stream");
  const socket = connect((agent.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  const timers = new Set<() => void>();
  const tunnel = openTunnel(socket, Buffer.alloc(0), {
    clock: { now: () => 0, elapsed: () => 0 },
    scheduler: {
      schedule(_milliseconds: number, work: () => void) {
        timers.add(work);
        return { [Symbol.dispose]: () => void timers.delete(work) };
      },
    } as never,
    agent: { id: "a", version: "1" },
    onChange: () => undefined,
  });
  const before = new Set(timers);
  const asking = tunnel.ask("POST", "/rotate", new AbortController().signal);
  const refused = expect(asking).rejects.toThrow("the agent does not answer");
  const made = [...timers].filter((each) => !before.has(each));
  await asked;
  expect(made).toHaveLength(1);
  for (const work of made) work();
  await refused;
  await tunnel.closed;
  expect(made.filter((each) => timers.has(each))).toEqual([]);
  agent.close();
});

// An agent finds servers that begin: beside others, and in the place of one that ended.

import { afterEach, expect, it, vi } from "vitest";
import { createConnections } from "./keep-connected.ts";
import type { OpenedTunnel } from "./platform-requests.ts";

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

/** A platform behind a load balancer that leads to each of its servers in turn. */
function platform(ids: string[]) {
  const servers = [...ids];
  const open: { readonly id: string; close(): void }[] = [];
  let dialled = 0;
  const counted = vi.fn(async () => servers.length);
  const connections = createConnections({
    requests: {
      servers: counted,
      async openTunnel() {
        const serverId = servers[dialled++ % servers.length] ?? "";
        return {
          serverId,
          serverVersion: "",
          servers: servers.length,
          socket: { destroy: () => undefined },
        } as unknown as OpenedTunnel;
      },
    },
    key: async () => "key",
    serve({ serverId }) {
      let close = (): void => undefined;
      const closed = new Promise<void>((resolve) => {
        close = resolve;
      });
      const entry = { id: serverId, close };
      open.push(entry);
      void closed.then(() => open.splice(open.indexOf(entry), 1));
      return { closed, drain: close, [Symbol.dispose]: close };
    },
    drain: () => undefined,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined } as never,
    random: () => 0.5,
  });
  const stop = new AbortController();
  stops.push(stop);
  void connections.run(stop.signal);
  const tunnels = () => open.map(({ id }) => id).sort();
  return { servers, open, tunnels, counted };
}

it("opens two tunnels to each server", async () => {
  const { tunnels, counted } = platform(["a", "b", "c"]);
  await expect.poll(tunnels, { timeout: 10_000 }).toEqual(["a", "a", "b", "b", "c", "c"]);
  expect(counted).toHaveBeenCalledTimes(1);
});

it("finds the one that begins in the place of another within seconds", async () => {
  const { servers, open, tunnels } = platform(["a", "b"]);
  await expect.poll(tunnels, { timeout: 10_000 }).toEqual(["a", "a", "b", "b"]);
  servers.splice(1, 1);
  for (const { id, close } of [...open]) if (id === "b") close();
  await expect.poll(tunnels).toEqual(["a", "a"]);
  // The agent has learned that there is one server: nothing but another count tells it of the next.
  await new Promise((resolve) => setTimeout(resolve, 500));
  servers.push("c");
  await expect.poll(tunnels, { timeout: 8_000 }).toEqual(["a", "a", "c", "c"]);
});

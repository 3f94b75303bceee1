import { Duplex } from "node:stream";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { expect, it } from "vitest";
import type { Tunnel } from "./tunnel.ts";
import { createTunnelRegistry } from "./tunnel-registry.ts";

const OF_NAMESPACE = 2_048;
const OF_ALL = 16_384;

/** A tunnel in which every stream opens at once, unless it is said to fail. */
function openTunnel(): Tunnel & { readonly sockets: Duplex[]; fails: boolean } {
  const sockets: Duplex[] = [];
  return {
    ...{ agent: { id: "a", version: "1" }, roundTripMs: 1, streams: 0, isUsable: true, sockets, fails: false },
    open(callback) {
      if (this.fails) callback(new Error("the agent answered with 403"), null);
      else {
        const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
        sockets.push(socket);
        callback(null, socket);
      }
      return { cancel: () => undefined };
    },
    ask: () => Promise.resolve(202),
    closed: new Promise(() => undefined),
    [Symbol.dispose]: () => undefined,
  };
}

function startRegistry() {
  const never = { schedule: () => ({ [Symbol.dispose]: () => undefined }) };
  const registry = createTunnelRegistry(never as never, () => []);
  const connect = (uid: string, namespace?: string) => {
    const tunnel = openTunnel();
    registry.add(uid, tunnel, namespace);
    return tunnel;
  };
  /** How many of so many streams open; the others have to be refused as busy. */
  const dial = (uid: string, count: number): number => {
    let open = 0;
    for (let each = 0; each < count; each++) {
      try {
        registry.dialer(uid)((...[error]) => {
          if (error === null) open += 1;
        });
      } catch (error) {
        expect(isApiError(error, "ServiceUnavailable") && error.details?.causes?.[0]?.reason).toBe(
          "TooManyConnections",
        );
      }
    }
    return open;
  };
  return { registry, connect, dial };
}

it("opens so many streams in all tunnels of a project together, and leaves others theirs", () => {
  const { connect, dial } = startRegistry();
  const mine = [0, 1, 2].map((at) => connect(`mine-${at}`, "p-mine"));
  connect("other", "p-other");
  connect("cluster");
  const opened = mine.map((_, at) => dial(`mine-${at}`, 1_000));
  expect(opened).toEqual([1_000, 1_000, OF_NAMESPACE - 2_000]);
  expect([dial("other", 10), dial("cluster", 10)]).toEqual([10, 10]);
});

it("gives the place of a stream back with its end, and that of one that does not open", async () => {
  const { connect, dial } = startRegistry();
  const tunnel = connect("mine", "p-mine");
  tunnel.fails = true;
  expect(dial("mine", OF_NAMESPACE + 1)).toBe(0);
  tunnel.fails = false;
  expect(dial("mine", OF_NAMESPACE + 1)).toBe(OF_NAMESPACE);
  for (const socket of tunnel.sockets.splice(0, 7)) socket.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  expect(dial("mine", 100)).toBe(7);
});

it("opens so many streams in all tunnels of a server", () => {
  const { connect, dial } = startRegistry();
  for (let at = 0; at < 3; at++) connect(`cluster-${at}`);
  expect([0, 1, 2].map((at) => dial(`cluster-${at}`, OF_ALL / 2))).toEqual([OF_ALL / 2, OF_ALL / 2, 0]);
});

import { Duplex } from "node:stream";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { expect, it } from "vitest";
import { createConnectionSums } from "./connection-sums.ts";
import type { Dial } from "./upstream-dialer.ts";

const OF_NAMESPACE = 2_048;
const OF_ALL = 16_384;

/** Connections that open at once. */
function startDials(threads = 1) {
  const sums = createConnectionSums({ threads });
  const sockets: Duplex[] = [];
  const opens: Dial = (callback) => {
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    sockets.push(socket);
    callback(null, socket);
    return socket;
  };
  /** How many of so many open; the others have to be refused as busy. */
  const dial = (count: number, namespace?: string, target = opens): number => {
    let open = 0;
    for (let each = 0; each < count; each++) {
      try {
        sums.counting(
          target,
          namespace,
        )((...[error]) => {
          if (error === null) open += 1;
        });
      } catch (error) {
        if (!isApiError(error)) continue;
        expect(error.details?.causes?.[0]?.reason).toBe("TooManyConnections");
      }
    }
    return open;
  };
  return { sockets, dial };
}

it("opens so many to all targets of a project together, and leaves others theirs", () => {
  const { dial } = startDials();
  const opened = [0, 1, 2].map(() => dial(1_000, "p-mine"));
  expect(opened).toEqual([1_000, 1_000, OF_NAMESPACE - 2_000]);
  expect([dial(10, "p-other"), dial(10)]).toEqual([10, 10]);
});

it("opens its share where several threads count", () => {
  const { dial } = startDials(3);
  expect(dial(1_000, "p-mine")).toBe(Math.floor(OF_NAMESPACE / 3));
  expect(dial(10, "p-other")).toBe(10);
});

it("gives the place of one back with its end, and that of one that does not open", async () => {
  const { dial, sockets } = startDials();
  const fails: Dial = (callback) => {
    callback(new Error("the agent answered with 403"), null);
    return { destroy: () => undefined };
  };
  const throws: Dial = () => {
    throw new TypeError("the address is refused");
  };
  for (const each of [fails, throws]) expect(dial(OF_NAMESPACE + 1, "p-mine", each)).toBe(0);
  expect(dial(OF_NAMESPACE + 1, "p-mine")).toBe(OF_NAMESPACE);
  for (const socket of sockets.splice(0, 7)) socket.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  expect(dial(100, "p-mine")).toBe(7);
});

it("opens so many to all targets of a server, of which projects leave some to connected clusters", () => {
  const { dial } = startDials();
  const opened = Array.from({ length: 8 }, (_, at) => dial(OF_NAMESPACE, `p-${at}`));
  expect(opened).toEqual([...Array.from({ length: 7 }, () => OF_NAMESPACE), 0]);
  expect([dial(OF_ALL), dial(1)]).toEqual([OF_NAMESPACE, 0]);
});

// Watches whose clients read nothing, each kept below one limit and above another: of the watch, of its connection, and of the server. Every write has
// reached all watches when it is answered, so that the metrics tell at once which limit ended which watch.

import { afterAll, beforeAll, expect, test } from "vitest";
import { API, type AttackedServer, startAttackedServer } from "./testing/attacked-server.ts";
import { connectRawHttp2, FRAME } from "./testing/raw-http2.ts";

const MiB = 1 << 20;
const LIMIT = { watch: 1 * MiB, connection: 3 * MiB, server: 6 * MiB };
/** Five of them fit into the backlog of one watch, beside the first, which is on its way. */
const CHANGE_BYTES = 200_000;

let server: AttackedServer;
let count = 0;
beforeAll(async () => {
  server = await startAttackedServer([
    // Cluster threads would have half of the last limit.
    ...["--cluster-threads", "0"],
    ...["--watch-backlog-mib", String(LIMIT.watch / MiB)],
    ...["--connection-watch-backlog-mib", String(LIMIT.connection / MiB)],
    ...["--total-watch-backlog-mib", String(LIMIT.server / MiB)],
  ]);
});
afterAll(() => server?.[Symbol.asyncDispose]());

/** Watches by resource and limit that ended them, and the bytes that wait. */
async function figures() {
  const { text } = await server.send("/metrics", { key: server.admin });
  const found = text.matchAll(/^apiserver_terminated_watchers_total\{.*resource="(\w+)",scope="(\w+)"\} (\d+)$/gm);
  const ended = Object.fromEntries(
    [...found].map(([, resource, scope, times]) => [`${resource} ${scope}`, Number(times)]),
  );
  const bytes = Number(/^apiserver_watch_backlog_bytes (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
  return { ended, bytes };
}

/** Watches that the work ended, beyond those that had ended before. */
async function endedBy(work: () => Promise<void>): Promise<Record<string, number>> {
  const before = (await figures()).ended;
  await work();
  const after = (await figures()).ended;
  const differences = Object.entries(after).map(([name, times]) => [name, times - (before[name] ?? 0)] as const);
  return Object.fromEntries(differences.filter(([, times]) => times > 0));
}

/** A connection that takes nothing, and a watch on it for one new object of each of these resources. Resolves with their paths. */
async function watchesOf(...resources: readonly string[]) {
  const connection = await connectRawHttp2(server, { initialWindowSize: 0 });
  const paths: string[] = [];
  for (const resource of resources) {
    const name = `watched-${++count}`;
    const { status } = await server.send(`${API}/${resource}`, { key: server.admin, body: { metadata: { name } } });
    expect(status).toBe(201);
    const stream = connection.request(
      {
        ":method": "GET",
        ":scheme": "https",
        ":authority": "x",
        ":path": `${API}/${resource}?watch=true&fieldSelector=metadata.name%3D${name}`,
        authorization: `Bearer ${server.admin}`,
      },
      true,
    );
    await connection.frame((frame) => frame.type === FRAME.headers && frame.stream === stream);
    paths.push(`${API}/${resource}/${name}`);
  }
  return { paths, [Symbol.dispose]: () => connection[Symbol.dispose]() };
}

async function change(path: string, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const annotations = { text: `${++count}`.padEnd(CHANGE_BYTES, "x") };
    const { status } = await server.send(path, {
      key: server.admin,
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ metadata: { annotations } }),
    });
    expect(status).toBe(200);
  }
  expect((await figures()).bytes).toBeLessThanOrEqual(LIMIT.server);
}

test("one watch ends at its own limit, and those beside it do not (security book 48)", async () => {
  using watches = await watchesOf("users", "teams");
  const [large = "", small = ""] = watches.paths;
  expect(await endedBy(() => change(small, 5))).toEqual({});
  expect(await endedBy(() => change(large, 6))).toEqual({});
  expect(await endedBy(() => change(large, 1))).toEqual({ "users watch": 1 });
  // The backlog of the ended watch is gone; the other watch still has its own.
  const { bytes } = await figures();
  expect([bytes > 3 * CHANGE_BYTES, bytes < 5 * CHANGE_BYTES]).toEqual([true, true]);
});

test("of all watches of a connection, each within its limit, the largest ends at that of the connection (security book 48)", async () => {
  await expect.poll(async () => (await figures()).bytes).toBe(0);
  using watches = await watchesOf("users", "teams", "teams", "teams");
  const [largest = "", ...others] = watches.paths;
  expect(await endedBy(() => change(largest, 6))).toEqual({});
  const ended = await endedBy(async () => {
    for (const other of others) await change(other, 5);
  });
  expect(ended).toEqual({ "users connection": 1 });
});

test("of all watches, on connections that are within their limits, the largest ends at that of the server (security book 48)", async () => {
  await expect.poll(async () => (await figures()).bytes).toBe(0);
  using first = await watchesOf("users", "teams", "teams");
  using second = await watchesOf("teams", "teams", "teams");
  using third = await watchesOf("teams", "teams");
  const [largest = "", ...others] = [first, second, third].flatMap(({ paths }) => paths);
  expect(await endedBy(() => change(largest, 6))).toEqual({});
  const ended = await endedBy(async () => {
    for (const other of others) await change(other, 5);
  });
  expect(ended).toEqual({ "users server": 1 });
});

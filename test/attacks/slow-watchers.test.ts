// Watches whose clients read nothing, on the connection of others that do: as client-go uses one connection for all that a program does.
// By night for longer: SOAK_SECONDS.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API, type AttackedServer, residentMiB, startAttackedServer } from "./testing/attacked-server.ts";
import { connectRawHttp2, FRAME } from "./testing/raw-http2.ts";
import type { ClientReport } from "./testing/watching-client.ts";

const SOAK_SECONDS = Number(process.env["SOAK_SECONDS"] ?? 6);
const TEAMS = `${API}/teams`;
/** As many as a controller has that looks after most kinds. */
const BUSY = 30;
const STALLED = 4;
const OBJECT_BYTES = 8_000;
/** The limits of what waits for one watch, and for all of a connection. */
const [WATCH_BYTES, CONNECTION_BYTES] = [2 << 20, 16 << 20];

let server: AttackedServer;
let source: ChildProcess;
let changes = 0;

const SOURCE = new URL("./testing/event-source.ts", import.meta.url);
const CLIENT = new URL("./testing/watching-client.ts", import.meta.url);
const start = ({ pathname }: URL, ...args: string[]): ChildProcess =>
  fork(pathname, args, { execArgv: ["--import", "tsx"] });

async function stop(child: ChildProcess | undefined): Promise<void> {
  const exited = child && once(child, "exit");
  child?.kill();
  await exited;
}

beforeAll(async () => {
  server = await startAttackedServer([
    ...["--watch-backlog-mib", String(WATCH_BYTES >> 20)],
    ...["--connection-watch-backlog-mib", String(CONNECTION_BYTES >> 20), "--total-watch-backlog-mib", "64"],
  ]);
  source = start(SOURCE, server.url, TEAMS, server.admin, "50", String(OBJECT_BYTES));
  source.on("message", (count: number) => {
    changes = count;
  });
  while (changes < 50) await once(source, "message");
});
afterAll(async () => {
  await stop(source);
  await server?.[Symbol.asyncDispose]();
});

const terminated = async (): Promise<number> => {
  const { text } = await server.send("/metrics", { key: server.admin });
  const values = [...text.matchAll(/^apiserver_terminated_watchers_total\{[^}]*\} (\d+)$/gm)];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
};

/** A watch that is not read ends after so many changes, however fast they come. Watches of one connection share the bytes of a change. */
async function untilTerminated(count: number, mostChanges: number): Promise<void> {
  const first = changes;
  while ((await terminated()) < count) {
    expect(changes - first).toBeLessThan(mostChanges);
    await once(source, "message");
  }
}

test("unread watches end without the requests and other watches of their connection (security book 48)", async () => {
  const object = `${API}/users/good`;
  const client = start(CLIENT, server.url, TEAMS, object, server.admin, String(BUSY), String(STALLED));
  let report: ClientReport | undefined;
  client.on("message", (latest: ClientReport) => {
    report = latest;
  });
  const first = changes;
  const memory: number[] = [];
  for (const end = performance.now() + SOAK_SECONDS * 1_000; performance.now() < end; ) {
    await once(client, "message");
    memory.push(await residentMiB(server));
  }
  await untilTerminated(STALLED, (2 * STALLED * WATCH_BYTES) / OBJECT_BYTES);
  client.send("read");
  await expect.poll(() => report?.endedStalled).toBe(STALLED);
  process.stdout.write(
    `${SOAK_SECONDS} s, ${changes - first} changes: ${JSON.stringify(report)}, memory ${memory[0]} to ${Math.max(...memory)} MiB\n`,
  );
  expect(report).toMatchObject({ connection: [] });
  // None, but on a machine that stops the client for seconds.
  expect(report?.endedBusy).toBeLessThan(BUSY / 2);
  expect(Object.keys(report?.statuses ?? {})).toEqual(["200"]);
  expect(report?.fewestEvents).toBeGreaterThan(0);
  // The first minute is that of the server's own start.
  const settled = memory.slice(Math.min(240, memory.length >> 1));
  expect(Math.max(...settled) - (settled[0] ?? 0)).toBeLessThan(100);
  for (const line of report?.farewells ?? []) {
    // A client that began to read too late finds its watch cut.
    if (!line.startsWith("{")) continue;
    expect(JSON.parse(line)).toMatchObject({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
  }
  await stop(client);
});

test("two hundred watches of everything on a connection that takes nothing cost little memory, and end", async () => {
  const before = await residentMiB(server);
  const ended = await terminated();
  using raw = await connectRawHttp2(server, { initialWindowSize: 0 });
  const head = {
    ":method": "GET",
    ":scheme": "https",
    ":authority": "x",
    ":path": `${TEAMS}?watch=true&resourceVersion=0`,
    authorization: `Bearer ${server.admin}`,
  };
  const first = changes;
  for (let count = 0; count < 200; count++) raw.request(head, true);
  await raw.frame(({ type }) => type === FRAME.headers);
  await untilTerminated(ended + 200, (2 * CONNECTION_BYTES) / OBJECT_BYTES);
  const after = await residentMiB(server);
  process.stdout.write(`${changes - first} changes of ${OBJECT_BYTES} bytes: memory ${before} to ${after} MiB\n`);
  expect(after - before).toBeLessThan(150);
});

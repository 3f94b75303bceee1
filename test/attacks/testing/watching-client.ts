// A process with one HTTP/2 connection as client-go uses it: many watches, some of which it does not read, and ordinary requests beside them.
// Arguments: URL, path of the collection, path of an object, key, watches that are read, watches that are not. Reports to its parent; a
// message from there makes it read the others, too.

import { type ClientHttp2Stream, connect } from "node:http2";

export type ClientReport = {
  readonly statuses: Readonly<Record<string, number>>;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The fewest that a watch has brought that is read. */
  readonly fewestEvents: number;
  readonly endedBusy: number;
  readonly endedStalled: number;
  /** The last lines of the watches that were not read, as far as they have ended. */
  readonly farewells: readonly string[];
  /** Events of the connection itself. */
  readonly connection: readonly string[];
};

const [url = "", collection = "", object = "", key = "", busyCount = "", stalledCount = ""] = process.argv.slice(2);
const PAUSE_MS = 20;
const headers = { authorization: `Bearer ${key}` };
const connection: string[] = [];
// Small for a stream, so that the server soon learns who does not read; large for the connection, as Go has it.
const session = connect(url, { rejectUnauthorized: false, settings: { initialWindowSize: 1 << 17 } });
session.on("connect", () => session.setLocalWindowSize(1 << 30));
session.on("error", (error) => connection.push(error.message));
session.on("goaway", (code) => connection.push(`GOAWAY ${code}`));
session.on("close", () => connection.push("closed"));

type Watch = { readonly stream: ClientHttp2Stream; events: number; last: string; ended: boolean };

function watch(): Watch {
  const stream = session.request({ ":path": `${collection}?watch=true`, ...headers });
  const watched: Watch = { stream, events: 0, last: "", ended: false };
  let rest = "";
  stream.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split("\n");
    rest = lines.pop() ?? "";
    watched.events += lines.length;
    watched.last = lines.at(-1) ?? watched.last;
  });
  stream.on("error", (error) => {
    watched.last = error.message;
  });
  stream.on("close", () => {
    watched.ended = true;
  });
  return watched;
}

const busy = Array.from({ length: Number(busyCount) }, watch);
const stalled = Array.from({ length: Number(stalledCount) }, watch);
for (const { stream } of stalled) stream.pause();

const statuses: Record<string, number> = {};
const times: number[] = [];

function request(): Promise<string> {
  return new Promise((resolve) => {
    let status = "no answer";
    const stream = session.request({ ":path": object, ...headers });
    stream.on("response", (head) => {
      status = String(head[":status"]);
    });
    stream.on("error", (error) => {
      status = error.message;
    });
    stream.on("close", () => resolve(status)).resume();
  });
}

async function makeRequests(): Promise<void> {
  while (!session.destroyed) {
    const startedAt = performance.now();
    const status = await request();
    times.push(performance.now() - startedAt);
    statuses[status] = (statuses[status] ?? 0) + 1;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
void makeRequests();

setInterval(() => {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): number => Math.round(sorted[Math.floor(sorted.length * part)] ?? 0);
  const report: ClientReport = {
    statuses,
    p50: at(0.5),
    p99: at(0.99),
    fewestEvents: Math.min(...busy.map(({ events }) => events)),
    endedBusy: busy.filter(({ ended }) => ended).length,
    endedStalled: stalled.filter(({ ended }) => ended).length,
    farewells: stalled.filter(({ ended }) => ended).map(({ last }) => last),
    connection,
  };
  process.send?.(report);
}, 250);
process.on("message", () => {
  for (const { stream } of stalled) stream.resume();
});
process.on("disconnect", () => process.exit());

// Latency of single reads and turns of the event loop under mixed load: watches of one object each are held open, a list of all objects is
// sent again and again, and objects are created at a steady rate. Each kind is added to the ones before, to show which one delays
// reads. Takes about a minute on an idle machine.
// Usage: npm run nodes && npm run build && npx tsx --conditions=@postern/source benchmarks/mixed-load.ts [--watchers 10000] [--objects 8500]
//        [--creates 1000] [--seconds 5] [--server packages/cli/bin/postern.js] [--node /other/bin/node, 24 or later]
// The rate of creates is reduced if the idle machine does not reach half as many again: the table has the rate.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { nodeBinary } from "../tools/release/node-binary.ts";
import type { LoadOrder, LoadReport, RequestPattern, Target } from "./load/order.ts";
import { type LoadGenerator, startLoadGenerator } from "./load/start-load-generator.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { accessKeyBody, COLLECTION } from "./servers/access-key-object.ts";
import { type LoopReport, STALL_MS } from "./servers/loop-meter.ts";
import { MAIN, startPostern } from "./servers/start-postern.ts";

const { values: options } = parseArgs({
  options: {
    watchers: { type: "string", default: "10000" },
    objects: { type: "string", default: "8500" },
    creates: { type: "string", default: "1000" },
    seconds: { type: "string", default: "5" },
    server: { type: "string", default: MAIN },
    node: { type: "string", default: "" },
  },
});
const [watchers, objects, wanted, seconds] = [options.watchers, options.objects, options.creates, options.seconds].map(
  Number,
) as [number, number, number, number];
/** The server accepts 250 streams per connection. */
const WATCHES_PER_CONNECTION = 200;
const READERS = 4;
const CREATORS = 32;
/** The share of the machine's own rate, which leaves the rest for everything else. */
const SHARE_OF_CREATES = 2 / 3;

/** Seconds. */
const FOREVER = Number.MAX_SAFE_INTEGER;

const load = (target: Target, inFlight: number, duration: number, request: RequestPattern): LoadOrder => ({
  kind: "load",
  target,
  protocol: "h2",
  inFlight,
  seconds: duration,
  request,
});

const folder = mkdtempSync(join(tmpdir(), "postern-mixed-"));
const meterFile = join(folder, "loop.json");
process.env["LOOP_METER_FILE"] = meterFile;
try {
  const meter = fileURLToPath(new URL("./servers/loop-meter.ts", import.meta.url));
  const node = options.node === "" ? nodeBinary("node-24") : options.node;
  await using server = await startPostern(join(folder, "data"), options.server, ["--import", meter], node);
  const { target, pid } = server;
  const generators = Array.from({ length: 4 }, () => startLoadGenerator());
  await using _ended = {
    [Symbol.asyncDispose]: async () => void (await Promise.all(generators.map((one) => one[Symbol.asyncDispose]()))),
  };
  const [reader, lister, creator, watcher] = generators as [LoadGenerator, LoadGenerator, LoadGenerator, LoadGenerator];

  let created = 0;
  const creates = (count: number): RequestPattern => {
    created += count;
    return { method: "POST", path: COLLECTION, body: accessKeyBody("{n%100}"), firstNumber: created - count };
  };
  const fill = await creator.run({ ...load(target, 2 * CREATORS, FOREVER, creates(objects)), requests: objects });
  const rate = Math.max(1, Math.floor(Math.min(wanted, (fill.count / fill.seconds) * SHARE_OF_CREATES)));
  const get: RequestPattern = { method: "GET", path: `${COLLECTION}/key-{n}`, numbers: objects };

  /** The work of the event loop since the last call. */
  const loopReport = async (): Promise<LoopReport> => {
    rmSync(meterFile, { force: true });
    if (pid !== undefined) process.kill(pid, "SIGUSR2");
    while (!existsSync(meterFile)) await sleep(20);
    return JSON.parse(readFileSync(meterFile, "utf8")) as LoopReport;
  };
  const rows: Row[] = [];
  /** Reads during the load, which ends a little later. */
  const measure = async (beside: string, others: readonly (() => Promise<LoadReport>)[]): Promise<void> => {
    const running = others.map((start) => start());
    await loopReport();
    const reads = await reader.run(load(target, READERS, seconds, get));
    const { p99, longest, stalls } = await loopReport();
    const failed = (await Promise.all(running)).map(({ failures }) => failures).concat(reads.failures);
    rows.push({
      beside,
      "GET /s": reads.count === 0 ? "" : (reads.count / reads.seconds).toFixed(0),
      "p50 ms": reads.latencies.p50.toFixed(1),
      "p99 ms": reads.latencies.p99.toFixed(1),
      "longest ms": reads.latencies.max.toFixed(1),
      "turn p99, CPU ms": p99.toFixed(1),
      "longest turns, CPU ms": longest
        .slice(0, 3)
        .map((each) => each.toFixed(1))
        .join(" "),
      [`over ${STALL_MS} ms`]: String(stalls),
      failures: failed
        .map((each) => JSON.stringify(each))
        .filter((text) => text !== "{}")
        .join("; "),
    });
    process.stderr.write(`${beside}\n`);
  };
  const listing = () => lister.run(load(target, 1, seconds, { method: "GET", path: COLLECTION }));
  const creating = () =>
    creator.run({ ...load(target, CREATORS, seconds, creates(Math.ceil(rate * seconds) + CREATORS)), perSecond: rate });

  await measure("warming up", [listing, creating]);
  await measure("nothing", []);
  await measure(`${rate} creates a second`, [creating]);
  await measure("a list of all, again and again", [listing]);
  const path = `${COLLECTION}?watch=true&fieldSelector=metadata.name%3Dkey-{n}`;
  const connections = Math.ceil(watchers / WATCHES_PER_CONNECTION);
  // Until its process ends.
  await new Promise<void>((resolve, reject) => {
    watcher.run({ kind: "hold", target, watchers, connections, path }, resolve).catch(reject);
  });
  await measure(`${watchers} watches`, []);
  await measure(`${watchers} watches, ${rate} creates a second`, [creating]);
  await measure(`${watchers} watches, creates, the list`, [creating, listing]);
  const load1 = (loadavg()[0] ?? 0).toFixed(1);
  process.stdout.write(
    `${objects} objects of 1.2 kB, load average ${load1}, this run included\n\n${renderTable(rows)}\n`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

// Memory, latencies and database size of a server whose objects are created and deleted all the time: keys and config maps are created, changed
// and deleted while they are watched, followed by a quiet phase. Prints a line every few seconds, and a summary of what should stay constant.
// Usage: npm run build && npx tsx benchmarks/churn.ts [--minutes 12] [--keys 170] [--config-maps 100] [--watches 200] [--connections 6]
//        [--quiet-seconds 60] [--server bin/postern.js] [--node /other/bin/node] [--folder /tmp]

import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type ChurnKind, startChurn } from "./load/churn.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { accessKeyBody, COLLECTION } from "./servers/access-key-object.ts";
import { askText } from "./servers/ask-text.ts";
import { residentMegabytes } from "./servers/measured-server.ts";
import { MAIN, startPostern } from "./servers/start-postern.ts";
import { CONFIG_MAPS, openVirtualCluster } from "./servers/virtual-cluster.ts";

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "12" },
    keys: { type: "string", default: "170" },
    "config-maps": { type: "string", default: "100" },
    watches: { type: "string", default: "200" },
    connections: { type: "string", default: "6" },
    "quiet-seconds": { type: "string", default: "60" },
    server: { type: "string", default: MAIN },
    node: { type: "string", default: process.execPath },
    folder: { type: "string", default: tmpdir() },
  },
});
const LINE_MS = 5_000;
const PAUSE_MS = 1_000;
const minutes = Number(options.minutes);

const folder = mkdtempSync(join(options.folder, "postern-churn-"));
try {
  const dataDir = join(folder, "data");
  await using postern = await startPostern(dataDir, options.server, [], options.node);
  const kinds: readonly ChurnKind[] = [
    {
      target: postern.target,
      collection: COLLECTION,
      name: "key-{n}",
      body: accessKeyBody(),
      change: JSON.stringify({ spec: { description: "y".repeat(400) } }),
      perSecond: Number(options.keys),
    },
    {
      target: await openVirtualCluster(postern.target),
      collection: CONFIG_MAPS,
      name: "map-{n}",
      body: JSON.stringify({ metadata: { name: "map-{n}" }, data: { text: "x".repeat(900) } }),
      change: JSON.stringify({ data: { text: "y".repeat(900) } }),
      perSecond: Number(options["config-maps"]),
    },
  ];
  const resident = (): number => residentMegabytes(postern) ?? Number.NaN;
  /** All resident memory, and the part of the JavaScript heap and buffers. */
  const memoryText = async (): Promise<string> => {
    const metrics = await askText(postern.target, "GET", "/metrics");
    const read = (name: string): string =>
      megabytes(Number(new RegExp(`^${name} (\\S+)`, "m").exec(metrics)?.[1]) / 1e6);
    const [heap, buffers] = [read("nodejs_heap_size_used_bytes"), read("nodejs_external_memory_bytes")];
    return `${megabytes(resident())} (heap ${heap}, buffers ${buffers})  database ${megabytes(databaseMegabytes(dataDir))}`;
  };
  const started = resident();
  const churn = await startChurn({
    kinds,
    watches: Number(options.watches),
    connections: Number(options.connections),
    pauseMs: PAUSE_MS,
  });
  const startedAt = performance.now();
  let afterOne = Number.NaN;
  let longest = 0;
  const waits: number[] = [];
  for (let line = 1; line * LINE_MS <= minutes * 60_000; line++) {
    await sleep(startedAt + line * LINE_MS - performance.now());
    const wait = churn.longestWait();
    waits.push(wait);
    longest = Math.max(longest, wait);
    if (line * LINE_MS === 60_000) afterOne = resident();
    const { lives, events, failures } = churn.counts;
    process.stderr.write(
      `${line * LINE_MS * 1e-3} s  ${lives} lives  ${events} events  ${await memoryText()}  longest wait ${Math.round(wait)} ms  ${JSON.stringify(failures)}\n`,
    );
  }
  const underLoad = resident();
  const database = databaseMegabytes(dataDir);
  await churn.end();
  await churn[Symbol.asyncDispose]();
  await sleep(Number(options["quiet-seconds"]) * 1_000);
  process.stderr.write(`quiet  ${await memoryText()}\n`);
  const rows: Row[] = [
    fact("lives, each made, changed and deleted", String(churn.counts.lives)),
    fact("memory, started", megabytes(started)),
    fact("memory, after one minute", megabytes(afterOne)),
    fact(`memory, after ${minutes} minutes`, megabytes(underLoad)),
    fact("of that after one minute", `${(underLoad / afterOne).toFixed(2)} ×`),
    fact(`memory, quiet for ${options["quiet-seconds"]} s`, megabytes(resident())),
    fact("longest wait", `${Math.round(longest)} ms`),
    fact("median of the longest waits", `${Math.round(waits.toSorted((a, b) => a - b)[waits.length >> 1] ?? 0)} ms`),
    fact("database, under load", megabytes(database)),
    fact("failures", JSON.stringify(churn.counts.failures)),
  ];
  process.stdout.write(`${renderTable(rows)}\n`);
} finally {
  rmSync(folder, { recursive: true });
}

function fact(figure: string, value: string): Row {
  return { figure, value };
}

function megabytes(value: number): string {
  return `${Math.round(value)} MB`;
}

/** Including its log. */
function databaseMegabytes(dataDir: string): number {
  const files = readdirSync(dataDir).filter((name) => name.startsWith("postern.db"));
  return files.reduce((sum, name) => sum + statSync(join(dataDir, name)).size, 0) / 1e6;
}

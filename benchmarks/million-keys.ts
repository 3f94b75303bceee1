// What a million access keys cost: loaded straight into the database, then served by the real server, beside the same server with a
// thousand. Figures of both come from the same run.
// Usage: npx tsx --conditions=@postern/source benchmarks/million-keys.ts [--keys 1000000] [--expiring 100000] [--seconds 5] [--life 600]

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { LoadReport } from "./load/order.ts";
import { runLoad } from "./load/run-load.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { GROUP } from "./servers/access-key-object.ts";
import { askText } from "./servers/ask-text.ts";
import { loadAccessKeys } from "./servers/load-access-keys.ts";
import { cpuSeconds, type MeasuredServer, residentMegabytes } from "./servers/measured-server.ts";
import { type Postern, startPostern } from "./servers/start-postern.ts";

const KEYS = `/apis/${GROUP}/v1/ownedaccesskeys`;
/** Keys that are used, of those that a run makes over the wire. */
const USED = 16;
const IN_FLIGHT_EACH = 2;
const PAGE = 500;
const PAGES_AT_EACH_END = 100;
const MAIN = fileURLToPath(new URL("../packages/cli/dist/main.js", import.meta.url));
const HEAP = ["--max-old-space-size=12288"];

const { values: options } = parseArgs({
  options: {
    keys: { type: "string", default: "1000000" },
    expiring: { type: "string", default: "100000" },
    few: { type: "string", default: "1000" },
    seconds: { type: "string", default: "5" },
    // From the load until the end of those that end: late enough that everything else has been measured.
    life: { type: "string", default: "600" },
  },
});
const [keys, expiring, few] = [Number(options.keys), Number(options.expiring), Number(options.few)];
const [seconds, life] = [Number(options.seconds), Number(options.life)];

const folder = mkdtempSync(join(tmpdir(), "postern-million-"));
const rows: Row[] = [];
const note = (what: string, value: string, fewValue = ""): void => {
  rows.push({ figure: what, [`${few} keys`]: fewValue, [`${keys} keys`]: value });
  process.stdout.write(`${what}: ${value}${fewValue === "" ? "" : ` (${few} keys: ${fewValue})`}\n`);
};
try {
  const small = await prepare(join(folder, "few"), few, 0);
  const large = await prepare(join(folder, "many"), keys, expiring);
  note("load into the database, keys per second", large.loadedPerSecond.toFixed(0), small.loadedPerSecond.toFixed(0));
  note("database, MB", large.megabytes.toFixed(0), small.megabytes.toFixed(0));

  await using smallServer = await startPostern(small.dataDir, MAIN, HEAP);
  const smallMemory = residentMegabytes(smallServer) ?? Number.NaN;
  await using largeServer = await startPostern(large.dataDir, MAIN, HEAP);
  const largeMemory = residentMegabytes(largeServer) ?? Number.NaN;
  note("start, ms", largeServer.startMilliseconds.toFixed(0), smallServer.startMilliseconds.toFixed(0));
  note("memory just started, MB", largeMemory.toFixed(0), smallMemory.toFixed(0));
  note("memory of one key, bytes", (((largeMemory - smallMemory) * 1e6) / (keys - few)).toFixed(0));

  await compareAuthentication([smallServer, small.tokens], [largeServer, large.tokens]);
  await measurePages(largeServer);
  await measureReaping(largeServer, large.tokens, large.endsAt);
  note("memory at the end, MB", (residentMegabytes(largeServer) ?? Number.NaN).toFixed(0));
  process.stdout.write(`\n${renderTable(rows)}\n`);
} finally {
  rmSync(folder, { recursive: true });
}

type Prepared = {
  readonly dataDir: string;
  readonly tokens: readonly string[];
  readonly loadedPerSecond: number;
  readonly megabytes: number;
  /** Milliseconds since the epoch. */
  readonly endsAt: number;
};

/** A first start, a few keys as anybody makes them, and all others as copies of one of those. */
async function prepare(dataDir: string, count: number, ending: number): Promise<Prepared> {
  const tokens: string[] = [];
  const server = await startPostern(dataDir, MAIN);
  for (let number = 0; number < USED; number++) {
    const body = JSON.stringify({ metadata: { name: `used-${number}` }, spec: { description: "x".repeat(200) } });
    const answer = await askText(server.target, "POST", KEYS, body);
    tokens.push(JSON.parse(answer).spec.key);
  }
  await server[Symbol.asyncDispose]();
  const path = join(dataDir, "postern.db");
  const started = performance.now();
  const endsAt = Date.now() + life * 1000;
  await loadAccessKeys(path, { template: "used-0", count: count - USED, ending, lifeSeconds: life });
  const loadedPerSecond = (count * 1000) / (performance.now() - started);
  return {
    dataDir,
    tokens,
    loadedPerSecond,
    megabytes: statSync(path).size / 1e6,
    endsAt,
  };
}

type Used = readonly [server: Postern, tokens: readonly string[]];

/** Every lane has a key of its own. Rounds are interleaved, so that what else goes on hits both alike. */
async function compareAuthentication(small: Used, large: Used): Promise<void> {
  const measured: { small: Authenticated[]; large: Authenticated[] } = { small: [], large: [] };
  for (let round = -1; round < 3; round++) {
    const pair = [await authenticate(small), await authenticate(large)] as const;
    // The first round warms up.
    if (round < 0) continue;
    measured.small.push(pair[0]);
    measured.large.push(pair[1]);
  }
  const figure = (what: string, of: (one: Authenticated) => number, digits = 1): void => {
    const [ofMany, ofFew] = [median(measured.large.map(of)), median(measured.small.map(of))];
    note(`authentication, ${what}`, ofMany.toFixed(digits), ofFew.toFixed(digits));
    rows.push({ figure: "  ratio", [`${few} keys`]: "1", [`${keys} keys`]: (ofMany / ofFew).toFixed(2) });
  };
  figure("requests per second", ({ perSecond }) => perSecond, 0);
  figure("CPU µs of the server each", ({ cpu }) => cpu);
  figure("p50 ms", ({ p50 }) => p50, 2);
  figure("p99 ms", ({ p99 }) => p99, 2);
}

type Authenticated = { readonly perSecond: number; readonly cpu: number; readonly p50: number; readonly p99: number };

async function authenticate([server, tokens]: Used): Promise<Authenticated> {
  const before = cpuSeconds(server) ?? Number.NaN;
  const reports = await Promise.all(tokens.map((token) => load(server, token, seconds)));
  const count = reports.reduce((sum, report) => sum + report.count, 0);
  return {
    perSecond: count / seconds,
    cpu: (((cpuSeconds(server) ?? Number.NaN) - before) * 1e6) / count,
    p50: median(reports.map(({ latencies }) => latencies.p50)),
    p99: median(reports.map(({ latencies }) => latencies.p99)),
  };
}

async function load(server: MeasuredServer, token: string, forSeconds: number): Promise<LoadReport> {
  const report = await runLoad(
    {
      kind: "load",
      target: { ...server.target, token },
      protocol: "h1",
      inFlight: IN_FLIGHT_EACH,
      seconds: forSeconds,
      request: { method: "GET", path: "/version" },
    },
    () => {},
  );
  if (Object.keys(report.failures).length > 0) throw new Error(`refused: ${JSON.stringify(report.failures)}`);
  return report;
}

/** The first pages, and as many after skipping to near the end by its own continue tokens. */
async function measurePages(server: Postern): Promise<void> {
  const times: number[] = [];
  let next = "";
  let seen = 0;
  do {
    const before = performance.now();
    const text = await askText(server.target, "GET", `${KEYS}?limit=${PAGE}&continue=${encodeURIComponent(next)}`);
    times.push(performance.now() - before);
    const { metadata } = JSON.parse(text);
    seen += PAGE;
    next = metadata.continue ?? "";
  } while (next !== "");
  note(
    `pages of ${PAGE}, all`,
    `${times.length} in ${(times.reduce((sum, time) => sum + time, 0) / 1000).toFixed(1)} s`,
  );
  note("page, ms: median of the first hundred", median(times.slice(0, PAGES_AT_EACH_END)).toFixed(1));
  note("page, ms: median of the last hundred", median(times.slice(-PAGES_AT_EACH_END)).toFixed(1));
  note("page, ms: slowest", Math.max(...times).toFixed(1));
  if (seen < keys) throw new Error(`only ${seen} keys were listed: where keys end meanwhile, give a longer --life`);
}

/** Waits until the life of many keys ends at once, and measures requests until the last of those is gone. */
async function measureReaping(server: Postern, tokens: readonly string[], endsAt: number): Promise<void> {
  if (expiring === 0) return;
  const quiet = await load(server, tokens[0] ?? "", seconds);
  const left = endsAt - Date.now();
  if (left < 0) throw new Error("the keys have ended before everything else was measured: give a longer --life");
  process.stdout.write(`waiting ${(left / 1000).toFixed(0)} s for ${expiring} keys to end\n`);
  await new Promise((resolve) => setTimeout(resolve, left));
  const started = performance.now();
  const latencies: { p50: number; p99: number; max: number }[] = [];
  for (;;) {
    const report = await load(server, tokens[0] ?? "", 1);
    latencies.push(report.latencies);
    // Names of keys that end stand before nearly all others.
    const { items } = JSON.parse(await askText(server.target, "GET", `${KEYS}?limit=10`));
    if (!items.some(({ metadata }: Named) => metadata.name.startsWith("ending-"))) break;
  }
  const took = (performance.now() - started) / 1000;
  note(`reaping of ${expiring} keys that end at once, s`, took.toFixed(1));
  note("reaping, keys per second", (expiring / took).toFixed(0));
  note(
    "requests meanwhile, p50 ms (quiet)",
    `${median(latencies.map(({ p50 }) => p50)).toFixed(2)} (${quiet.latencies.p50.toFixed(2)})`,
  );
  note(
    "requests meanwhile, p99 ms (quiet)",
    `${median(latencies.map(({ p99 }) => p99)).toFixed(2)} (${quiet.latencies.p99.toFixed(2)})`,
  );
  note(
    "requests meanwhile, slowest ms (quiet)",
    `${Math.max(...latencies.map(({ max }) => max)).toFixed(1)} (${quiet.latencies.max.toFixed(1)})`,
  );
}

type Named = { readonly metadata: { readonly name: string } };

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

// The cost of a million access keys compared to fewer: loaded directly into databases, then served by the real server.
// Usage: npx tsx --conditions=@postern/source benchmarks/million-keys.ts [--sizes 1000,100000,1000000] [--seconds 3]
//   [--folder <directory> --part prepare|start|authentication|lists|reaping|turnover]
// A folder keeps the databases, so that parts can be measured one by one without other load.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { type Authenticated, askWith, compareAuthentication } from "./many-keys/authentication.ts";
import { addKeys, type KeyFolder, prepareFolder, startOn } from "./many-keys/key-folders.ts";
import { readAllPages } from "./many-keys/lists.ts";
import { reapAtOnce, turnOver } from "./many-keys/reaping.ts";
import { median } from "./report/median.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { residentMegabytes } from "./servers/measured-server.ts";
import type { Postern } from "./servers/start-postern.ts";

const PAGES_AT_EACH_END = 100;

const { values: options } = parseArgs({
  options: {
    sizes: { type: "string", default: "1000,100000,1000000" },
    seconds: { type: "string", default: "3" },
    folder: { type: "string" },
    part: { type: "string" },
    /** Keys that expire at one moment, and when after they were written: once the server with a million has started. */
    expiring: { type: "string", default: "100000" },
    life: { type: "string", default: "90" },
    "turnover-seconds": { type: "string", default: "60" },
  },
});
const sizes = options.sizes.split(",").map(Number);
const seconds = Number(options.seconds);

const rows: Row[] = [];
const note = (figure: string, ...values: readonly string[]): void => {
  rows.push(Object.fromEntries([["figure", figure], ...sizes.map((size, at) => [`${size} keys`, values[at] ?? ""])]));
  process.stdout.write(`${figure}: ${values.join(", ")}\n`);
};
const say = (text: string): void => void process.stdout.write(`${text}\n`);
/** Of the largest number of keys alone. */
const noteOfMost = (figure: string, value: string): void => note(figure, ...sizes.slice(1).map(() => ""), value);

const PARTS = { start, authentication, lists, reaping, turnover };

const kept = options.folder;
const folder = kept ?? mkdtempSync(join(tmpdir(), "postern-million-"));
mkdirSync(folder, { recursive: true, mode: 0o700 });
try {
  const folders: KeyFolder[] = [];
  for (const size of sizes) folders.push(await prepareFolder(folder, size, say));
  for (const [name, measure] of Object.entries(PARTS)) {
    if (options.part === undefined || options.part === name) await measure(folders, mostOf(folders));
  }
  if (rows.length > 0) say(`\n${renderTable(rows)}`);
} finally {
  if (kept === undefined) rmSync(folder, { recursive: true });
}

function mostOf(folders: readonly KeyFolder[]): KeyFolder {
  const most = folders.at(-1);
  if (most === undefined) throw new Error("no --sizes are given");
  return most;
}

async function start(folders: readonly KeyFolder[]): Promise<void> {
  const measured: { keys: number; milliseconds: number; megabytes: number }[] = [];
  for (const each of folders) {
    await using server = await startOn(each);
    measured.push({
      keys: each.keys,
      milliseconds: server.startMilliseconds,
      megabytes: residentMegabytes(server) ?? Number.NaN,
    });
  }
  note("start, ms", ...measured.map(({ milliseconds }) => milliseconds.toFixed(0)));
  note("memory just started, MB", ...measured.map(({ megabytes }) => megabytes.toFixed(0)));
  const [fewest] = measured;
  const ofOne = measured.map(({ keys, megabytes }) =>
    fewest === undefined || keys === fewest.keys
      ? ""
      : (((megabytes - fewest.megabytes) * 1e6) / (keys - fewest.keys)).toFixed(0),
  );
  note("memory of one key, bytes", ...ofOne);
}

async function authentication(folders: readonly KeyFolder[]): Promise<void> {
  const used: { server: Postern; tokens: readonly string[] }[] = [];
  let measured: readonly Authenticated[];
  try {
    for (const each of folders) used.push({ server: await startOn(each), tokens: each.tokens });
    measured = await compareAuthentication(used, seconds);
  } finally {
    for (const { server } of used) await server[Symbol.asyncDispose]();
  }
  const figure = (what: string, of: (one: Authenticated) => number, digits = 1): void => {
    note(`authentication, ${what}`, ...measured.map((one) => of(one).toFixed(digits)));
    const [fewest] = measured;
    if (fewest !== undefined) note("  ratio", ...measured.map((one) => (of(one) / of(fewest)).toFixed(2)));
  };
  figure("requests per second", ({ perSecond }) => perSecond, 0);
  figure("CPU µs of the server for each", ({ cpu }) => cpu);
  figure("p50 ms", ({ p50 }) => p50, 2);
  figure("p99 ms", ({ p99 }) => p99, 2);
}

async function lists(_: readonly KeyFolder[], most: KeyFolder): Promise<void> {
  await using server = await startOn(most);
  const started = performance.now();
  const { times, items, renewed } = await readAllPages(server);
  const took = (performance.now() - started) / 1000;
  if (items < most.keys) throw new Error(`only ${items} of ${most.keys} keys were listed`);
  noteOfMost("pages of all keys", `${times.length} in ${took.toFixed(1)} s`);
  noteOfMost("lists that went on without their snapshot", String(renewed));
  noteOfMost("page, ms: median of the first hundred", median(times.slice(0, PAGES_AT_EACH_END)).toFixed(1));
  noteOfMost("page, ms: median of the last hundred", median(times.slice(-PAGES_AT_EACH_END)).toFixed(1));
  noteOfMost("page, ms: slowest", Math.max(...times).toFixed(1));
}

async function reaping(_: readonly KeyFolder[], most: KeyFolder): Promise<void> {
  const [ending, life] = [Number(options.expiring), Number(options.life)];
  await addKeys(most, { count: ending, ending, lifeSeconds: life });
  const endsAt = Date.now() + life * 1000;
  await using server = await startOn(most);
  if (Date.now() > endsAt) throw new Error("the keys ended before the server had started: give a longer --life");
  const token = most.tokens[0] ?? "";
  await askWith(server, token, seconds);
  const quiet = (await askWith(server, token, seconds)).latencies;
  const reaped = await reapAtOnce(server, token, endsAt);
  noteOfMost(`${ending} keys that end at once are gone after, s`, reaped.seconds.toFixed(1));
  noteOfMost("reaping, keys per second", (ending / reaped.seconds).toFixed(0));
  const withQuiet = (during: number, before: number): string => `${during.toFixed(2)} (${before.toFixed(2)})`;
  noteOfMost("requests meanwhile, p50 ms (before)", withQuiet(reaped.p50, quiet.p50));
  noteOfMost("requests meanwhile, p99 ms (before)", withQuiet(reaped.p99, quiet.p99));
  noteOfMost("requests meanwhile, slowest ms (before)", withQuiet(reaped.slowest, quiet.max));
}

async function turnover(_: readonly KeyFolder[], most: KeyFolder): Promise<void> {
  await using server = await startOn(most);
  const measured = await turnOver(server, Number(options["turnover-seconds"]), say);
  noteOfMost("keys that live for 5 s: made", String(measured.created));
  noteOfMost("made per second", measured.createdPerSecond.toFixed(0));
  noteOfMost("removed per second meanwhile", measured.removedPerSecond.toFixed(0));
  noteOfMost("ended and still there, s: median of the oldest", measured.medianSeconds.toFixed(1));
  noteOfMost("ended and still there, s: longest", measured.longestSeconds.toFixed(1));
  noteOfMost("all gone after the end of the last, s", measured.secondsUntilGone.toFixed(1));
}

// The processor time of a GET against the number of threads, clusters and access keys, and the memory of the server: of one that answers in virtual clusters
// by the number of cluster threads, of clusters that are awake and of clusters that sleep beside one, and of the management API by the number of threads that
// serve it and of keys. Servers of one curve take turns, with a fixed number of requests: other work on the machine changes the figures little.
// Draws plots/cost-*.svg.
// Usage: npm run benchmarks:curves -- [--requests 2000] [--rounds 3] [--in-flight 32] [--curve threads|fronts|clusters|asleep|keys] [--folder <directory>]
//   [--threads 0,1,2] [--fronts 1,2] [--clusters 1,10,100] [--keys 1000,10000,100000] [--dry]: draws nothing
// The curves in RESULTS.md go to 1,000 clusters and a million keys, which takes an hour. A folder keeps the databases with keys for the next run.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { nodeBinary } from "../tools/release/node-binary.ts";
import type { Target } from "./load/order.ts";
import { processorTime, totalOf } from "./load/processor-time.ts";
import { prepareFolder, startOn } from "./many-keys/key-folders.ts";
import { drawPlot } from "./report/draw-plot.ts";
import { median } from "./report/median.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { GROUP } from "./servers/access-key-object.ts";
import { askText } from "./servers/ask-text.ts";
import { residentMegabytes } from "./servers/measured-server.ts";
import { MAIN, type Postern, startPostern } from "./servers/start-postern.ts";

const { values: options } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: {
    requests: { type: "string", default: "2000" },
    rounds: { type: "string", default: "3" },
    "in-flight": { type: "string", default: "32" },
    threads: { type: "string", default: "0,1,2" },
    fronts: { type: "string", default: "1,2" },
    clusters: { type: "string", default: "1,10,100" },
    keys: { type: "string", default: "1000,10000,100000" },
    curve: { type: "string" },
    folder: { type: "string" },
    dry: { type: "boolean", default: false },
  },
});
const [requests, rounds, connections] = [options.requests, options.rounds, options["in-flight"]].map(Number) as [
  number,
  number,
  number,
];
const numbers = (list: string): readonly number[] => list.split(",").map(Number);

const PROJECT = "/kubernetes/project/default/virtualcluster";
const INSTANCES = `/apis/${GROUP}/v1/namespaces/p-default/virtualclusterinstances`;
const CONFIG_MAP = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
const ONE_PROJECT = `/apis/${GROUP}/v1/projects/default`;
/** An instance with this annotation sleeps until a request comes. */
const ASLEEP = { [`sleepmode.${GROUP.slice(GROUP.indexOf(".") + 1)}/force`]: "true" };
const PLOTS = join(import.meta.dirname, "plots");

/** A server at one point of a curve, and the paths that are asked for there. */
type Point = { readonly label: string; readonly server: Postern; readonly paths: readonly string[] };
type Measured = { readonly label: string; readonly microseconds: number; readonly megabytes: number };

const folder = options.folder ?? mkdtempSync(join(tmpdir(), "postern-curves-"));
mkdirSync(folder, { recursive: true });
const CURVES: { readonly [curve: string]: () => Promise<void> } = {
  threads: curveOfThreads,
  fronts: curveOfFronts,
  clusters: curveOfClusters,
  asleep: curveOfSleeping,
  keys: curveOfKeys,
};
try {
  for (const [name, draw] of Object.entries(CURVES)) if ((options.curve ?? name) === name) await draw();
} finally {
  if (options.folder === undefined) rmSync(folder, { recursive: true });
}

async function curveOfThreads(): Promise<void> {
  const points: Point[] = [];
  try {
    for (const threads of numbers(options.threads)) {
      const server = await startWith(`threads-${threads}`, ["--cluster-threads", String(threads)]);
      points.push({ label: String(threads), server, paths: [] });
    }
    const filled: Point[] = [];
    for (const point of points) filled.push({ ...point, paths: await clustersOf(point.server, 2) });
    write("threads", "cluster threads", measure(filled));
  } finally {
    for (const { server } of points) await server[Symbol.asyncDispose]();
  }
}

/** Node shares a port among threads from version 23 on. */
async function curveOfFronts(): Promise<void> {
  const points: Point[] = [];
  try {
    for (const fronts of numbers(options.fronts)) {
      const server = await startWith(`fronts-${fronts}`, ["--threads", String(fronts)], nodeBinary("node-24"));
      points.push({ label: String(fronts), server, paths: [ONE_PROJECT] });
    }
    write("fronts", "threads that serve", measure(points));
  } finally {
    for (const { server } of points) await server[Symbol.asyncDispose]();
  }
}

/** All of them are asked for in turns. */
async function curveOfClusters(): Promise<void> {
  await using server = await startWith("clusters", ["--cluster-threads", "1"]);
  let paths: readonly string[] = [];
  const measured: Measured[] = [];
  for (const count of numbers(options.clusters)) {
    paths = await clustersOf(server, count, paths);
    measured.push(...measure([{ label: String(count), server, paths }]));
  }
  write("clusters", "virtual clusters awake", measured);
}

/** One is awake, and asked for. */
async function curveOfSleeping(): Promise<void> {
  await using server = await startWith("asleep", ["--cluster-threads", "1"]);
  const paths = await clustersOf(server, 1);
  const measured: Measured[] = [];
  let sleeping = 0;
  for (const count of numbers(options.clusters)) {
    for (; sleeping < count; sleeping++) await createInstance(server.target, `asleep-${sleeping}`, ASLEEP);
    measured.push(...measure([{ label: String(count), server, paths }]));
  }
  write("asleep", "virtual clusters asleep", measured);
}

async function curveOfKeys(): Promise<void> {
  const note = (text: string): void => void process.stdout.write(`${text}\n`);
  const measured: Measured[] = [];
  for (const count of numbers(options.keys)) {
    await using server = await startOn(await prepareFolder(folder, count, note));
    measured.push(...measure([{ label: String(count), server, paths: [ONE_PROJECT] }]));
  }
  write("keys", "access keys", measured);
}

function startWith(name: string, flags: readonly string[], node?: string): Promise<Postern> {
  return startPostern(join(folder, name), MAIN, [], node, flags);
}

/** Paths in so many clusters, of which some are there already. */
async function clustersOf(
  { target }: Postern,
  count: number,
  known: readonly string[] = [],
): Promise<readonly string[]> {
  const paths = [...known];
  for (let number = paths.length; number < count; number++) {
    const name = `curve-${number}`;
    await createInstance(target, name);
    const path = `${PROJECT}/${name}${CONFIG_MAP}`;
    await untilServed(target, path);
    paths.push(path);
  }
  return paths;
}

function createInstance(target: Target, name: string, annotations = {}): Promise<string> {
  const instance = { metadata: { name, annotations }, spec: { template: {} } };
  return askText(target, "POST", INSTANCES, JSON.stringify(instance));
}

async function untilServed(target: Target, path: string): Promise<void> {
  for (;;) {
    try {
      await askText(target, "GET", path);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function measure(points: readonly Point[]): readonly Measured[] {
  const times = new Map<Point, number[]>(points.map((point) => [point, []]));
  for (let round = -1; round < rounds; round++) {
    for (const [{ server, paths }, own] of times) {
      const time = totalOf(processorTime(server, { paths, requests, connections }));
      // The first round warms up new code.
      if (round >= 0) own.push(time);
    }
  }
  return [...times].map(([{ label, server }, own]) => ({
    label,
    microseconds: median(own),
    megabytes: residentMegabytes(server) ?? Number.NaN,
  }));
}

function write(name: string, axis: string, measured: readonly Measured[]): void {
  const rows = measured.map(
    ({ label, microseconds, megabytes }): Row => ({
      [axis]: label,
      "CPU µs of a GET": microseconds.toFixed(0),
      "memory MB": megabytes.toFixed(0),
    }),
  );
  process.stdout.write(`${renderTable(rows)}\n\n`);
  if (options.dry) return;
  const plot = (file: string, unit: string, value: (one: Measured) => number): void => {
    const points = measured.map((one) => ({ label: one.label, value: value(one) }));
    writeFileSync(join(PLOTS, `cost-${name}-${file}.svg`), drawPlot(`GET, by ${axis}`, unit, points));
  };
  plot("processor", "µs of the processor", ({ microseconds }) => microseconds);
  plot("memory", "MB of memory", ({ megabytes }) => megabytes);
}

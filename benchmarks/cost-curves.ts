// The cost of a GET in a virtual cluster against the number of cluster threads and of clusters, and of one in the management API against the number of
// access keys: requests a second by `wrk`, and processor time of all threads. Servers of one curve take turns. Draws plots/cost-*.svg.
// Usage: npm run build && npx tsx --conditions=@postern/source benchmarks/cost-curves.ts [--seconds 2] [--rounds 3] [--in-flight 32]
//   [--threads 0,1,2] [--clusters 1,10,100,1000] [--keys 1000,100000,1000000] [--curve threads|clusters|keys]

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type IndependentLoad, installedLoads } from "./load/independent-load.ts";
import type { Target } from "./load/order.ts";
import { prepareFolder, startOn } from "./many-keys/key-folders.ts";
import { drawPlot } from "./report/draw-plot.ts";
import { type Round, summarize } from "./report/measurement.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { GROUP } from "./servers/access-key-object.ts";
import { askText } from "./servers/ask-text.ts";
import { cpuSeconds } from "./servers/measured-server.ts";
import { MAIN, type Postern, startPostern } from "./servers/start-postern.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "3" },
    "in-flight": { type: "string", default: "32" },
    threads: { type: "string", default: "0,1,2" },
    clusters: { type: "string", default: "1,10,100,1000" },
    keys: { type: "string", default: "1000,100000,1000000" },
    curve: { type: "string" },
  },
});
const [seconds, rounds, inFlight] = [options.seconds, options.rounds, options["in-flight"]].map(Number) as [
  number,
  number,
  number,
];
const numbers = (list: string): readonly number[] => list.split(",").map(Number);

const PROJECT = "/kubernetes/project/default/virtualcluster";
const INSTANCES = `/apis/${GROUP}/v1/namespaces/p-default/virtualclusterinstances`;
const CONFIG_MAP = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
const PLOTS = join(import.meta.dirname, "plots");

const [wrk] = installedLoads().filter(({ name }) => name === "wrk");
if (wrk === undefined) throw new Error("wrk is not installed");

/** A server at one point of a curve, and the paths that are asked for there, in turns. */
type Point = { readonly label: string; readonly server: Postern; readonly paths: readonly string[] };

const folder = mkdtempSync(join(tmpdir(), "postern-curves-"));
try {
  const { curve } = options;
  if (curve === undefined || curve === "threads") await curveOfThreads();
  if (curve === undefined || curve === "clusters") await curveOfClusters();
  if (curve === undefined || curve === "keys") await curveOfKeys();
} finally {
  rmSync(folder, { recursive: true });
}

async function curveOfThreads(): Promise<void> {
  const points: Point[] = [];
  try {
    for (const threads of numbers(options.threads)) {
      const server = await startWith(`threads-${threads}`, threads);
      points.push({ label: String(threads), server, paths: [] });
    }
    const filled: Point[] = [];
    for (const point of points) filled.push({ ...point, paths: await clustersOf(point.server, 2) });
    write("threads", "cluster threads", await measure(filled));
  } finally {
    for (const { server } of points) await server[Symbol.asyncDispose]();
  }
}

/** One server: the clusters that it has are asked for in turns. */
async function curveOfClusters(): Promise<void> {
  await using server = await startWith("clusters", 1);
  let paths: readonly string[] = [];
  const measured: Measured[] = [];
  for (const count of numbers(options.clusters)) {
    paths = await clustersOf(server, count, paths);
    measured.push(...(await measure([{ label: String(count), server, paths }])));
  }
  write("clusters", "virtual clusters", measured);
}

async function curveOfKeys(): Promise<void> {
  const note = (text: string): void => void process.stdout.write(`${text}\n`);
  const points: Point[] = [];
  try {
    for (const count of numbers(options.keys)) {
      const server = await startOn(await prepareFolder(folder, count, note));
      points.push({ label: String(count), server, paths: [`/apis/${GROUP}/v1/projects/default`] });
    }
    write("keys", "access keys", await measure(points));
  } finally {
    for (const { server } of points) await server[Symbol.asyncDispose]();
  }
}

function startWith(name: string, threads: number): Promise<Postern> {
  return startPostern(join(folder, name), MAIN, [], undefined, ["--cluster-threads", String(threads)]);
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
    const instance = { metadata: { name }, spec: { template: {} } };
    await askText(target, "POST", INSTANCES, JSON.stringify(instance));
    const path = `${PROJECT}/${name}${CONFIG_MAP}`;
    await untilServed(target, path);
    paths.push(path);
  }
  return paths;
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

type Measured = { readonly label: string; readonly perSecond: number; readonly cpuMicroseconds: number };

async function measure(points: readonly Point[], load: IndependentLoad = wrk as IndependentLoad): Promise<Measured[]> {
  const all = new Map<Point, Round[]>(points.map((point) => [point, []]));
  for (let round = -1; round < rounds; round++) {
    for (const [point, measured] of all) {
      const { server, paths } = point;
      const path = paths[(round + 1) % paths.length] ?? "";
      const before = cpuSeconds(server) ?? Number.NaN;
      const report = await load.run({ target: server.target, path, inFlight, seconds });
      const used = (((cpuSeconds(server) ?? Number.NaN) - before) / report.count) * 1e6;
      // The first round warms up new code.
      if (round >= 0) measured.push({ report, cpuMicroseconds: used });
    }
  }
  return [...all].map(([{ label }, measured]) => {
    const summary = summarize(measured);
    if (summary?.cpuMicroseconds === undefined) throw new Error(`nothing was measured for ${label}`);
    return { label, perSecond: summary.perSecond, cpuMicroseconds: summary.cpuMicroseconds };
  });
}

function write(name: string, axis: string, measured: readonly Measured[]): void {
  const rows = measured.map(
    ({ label, perSecond, cpuMicroseconds }): Row => ({
      [axis]: label,
      "per second": perSecond.toFixed(0),
      "CPU µs": cpuMicroseconds.toFixed(0),
    }),
  );
  process.stdout.write(`${renderTable(rows)}\n\n`);
  const plot = (unit: string, value: (one: Measured) => number): string =>
    drawPlot(
      `GET, by ${axis}`,
      unit,
      measured.map((one) => ({ label: one.label, value: value(one) })),
    );
  writeFileSync(
    join(PLOTS, `cost-${name}-rate.svg`),
    plot("requests a second", ({ perSecond }) => perSecond),
  );
  writeFileSync(
    join(PLOTS, `cost-${name}-processor.svg`),
    plot("µs of the processor", ({ cpuMicroseconds }) => cpuMicroseconds),
  );
}

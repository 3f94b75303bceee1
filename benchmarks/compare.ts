// Compares builds with each other and with a bare server, alternating on one machine, by the processor time of a request: absolute
// times depend more on the machine than on the build. Takes about three minutes. Also prints the ratio to the bare server beside that of
// the last committed run (`ratios.json`), and the ratio to kube-apiserver, scaled by the speed of the bare server.
// Usage: npm run benchmarks:compare -- [--builds now=packages/cli/bin/postern.js,before=/other/bin/postern.js] [--node /other/bin/node]
//        [--objects 10000] [--seconds 0.7] [--rounds 3] [--only get,list] [--store sqlite|etcd]
//        [--gate 1.5]: fails if the first build takes more than this multiple of its committed ratio; [--commit]: writes ratios.json
//        [--table]: all rows with goals, and how far each is met: on SQLite, on etcd, and starts; under ten minutes, on Node 24
//        if `npm run nodes` has installed it

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { nodeBinary } from "../tools/release/node-binary.ts";
import type { Order, Target } from "./load/order.ts";
import { type LoadGenerator, startLoadGenerator } from "./load/start-load-generator.ts";
import { commitRatios, committedRatio } from "./report/committed-ratios.ts";
import { textOfGoal, worksWithGoals } from "./report/goals.ts";
import { type Round, type Summary, summarize } from "./report/measurement.ts";
import { timesPeer } from "./report/peer-figures.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { measureStarts } from "./report/start-rows.ts";
import { SCENARIOS } from "./scenarios/compared.ts";
import type { Scenario } from "./scenarios/scenario.ts";
import { accessKeyBody, COLLECTION } from "./servers/access-key-object.ts";
import { cpuSeconds, type MeasuredServer } from "./servers/measured-server.ts";
import { MAIN, type Postern, startPostern } from "./servers/start-postern.ts";
import { startProcess } from "./servers/start-process.ts";
import { openVirtualCluster } from "./servers/virtual-cluster.ts";

const FILL_IN_FLIGHT = 64;
/** The minimum number of requests per connection or stream, even if that takes longer than the round. */
const REQUESTS_PER_LANE = 16;
const WARM_UP_PER_LANE = 48;
const LATE_MS = 6 * 60_000;

const { values: options } = parseArgs({
  options: {
    builds: { type: "string", default: `now=${MAIN}` },
    node: { type: "string" },
    objects: { type: "string", default: "10000" },
    seconds: { type: "string", default: "0.7" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "" },
    store: { type: "string", default: "sqlite" },
    gate: { type: "string" },
    commit: { type: "boolean", default: false },
    table: { type: "boolean", default: false },
  },
});
const [objects, seconds, rounds] = [options.objects, options.seconds, options.rounds].map(Number) as [
  number,
  number,
  number,
];
const wanted = options.only.split(",").filter((word) => word !== "");
const scenarios = SCENARIOS.filter(
  ({ name }) => wanted.length === 0 || wanted.some((word) => name.toLowerCase().includes(word.toLowerCase())),
);
const builds = options.builds.split(",").map((text) => {
  const at = text.indexOf("=");
  return { name: text.slice(0, at), main: resolve(text.slice(at + 1)) };
});

type Contestant = {
  readonly name: string;
  readonly kind: "bare" | "postern";
  readonly server: MeasuredServer;
  readonly cluster?: Target;
};

const node = options.node ?? (options.table ? nodeBinary("node-24") : process.execPath);
const version = spawnSync(node, ["--version"]).stdout.toString().trim();
/** Ratios are compared with those of the same runtime and kind of store. */
const settingOf = (store: string): string => `${store}, Node ${version.slice(1, 3)}`;

const folder = mkdtempSync(join(tmpdir(), "postern-compare-"));
const loadBefore = loadavg()[0] ?? 0;
const begun = performance.now();
let started: AsyncDisposable[] = [];
try {
  if (options.table) {
    for (const store of ["sqlite", "etcd"]) {
      const works = worksWithGoals(store);
      // Sequential work of kube-apiserver is scaled by the bare server's speed at the same work.
      const asked = SCENARIOS.filter(({ name }) => works.includes(name) || name.startsWith("GET by name, HTTP/2, 32"));
      await compare(store, asked, join(folder, store));
    }
    // On a busy machine, one start can take a minute.
    const runs = performance.now() - begun > LATE_MS ? 1 : rounds;
    process.stdout.write(`\nStarts\n\n${renderTable(await measureStarts(folder, builds, { node, runs }))}\n`);
  } else {
    const { ratios } = await compare(options.store, scenarios, folder);
    if (options.gate !== undefined) holdAgainst(Number(options.gate), ratios);
    if (options.commit) commitRatios(settingOf(options.store), ratios);
  }
  process.stderr.write(`${((performance.now() - begun) / 60_000).toFixed(1)} minutes\n`);
} finally {
  await endAll();
  rmSync(folder, { recursive: true });
}

/** Prints a table. */
async function compare(
  store: string,
  asked: readonly Scenario[],
  place: string,
): Promise<{ readonly ratios: ReadonlyMap<string, number> }> {
  mkdirSync(place, { recursive: true, mode: 0o700 });
  const generator = alsoEnds(startLoadGenerator());
  const contestants: Contestant[] = [];
  for (const { name, main } of builds) {
    const flags: string[] = [];
    if (store === "etcd") flags.push("--store", `etcd://${alsoEnds(await startEtcd()).endpoints[0]}`);
    const server: Postern = alsoEnds(await startPostern(join(place, name), main, [], node, flags));
    await fill(generator, server);
    contestants.push({ name, kind: "postern", server, cluster: await openVirtualCluster(server.target) });
  }
  contestants.unshift({ name: "bare", kind: "bare", server: alsoEnds(await startBare(contestants[0]?.server, place)) });
  const measuredWorks = new Map<string, Work>();
  const ratios = new Map<string, number>();
  let run = 0;
  for (const scenario of asked) {
    let inFlight = 0;
    const measured = new Map<string, Round[]>(contestants.map(({ name }) => [name, []]));
    // The first round warms up new code.
    for (let round = -1; round < rounds; round++) {
      for (const { name, kind, server, cluster } of contestants) {
        run++;
        const setting = { kind, target: server.target, objects, seconds, run };
        const order = scenario.order(cluster === undefined ? setting : { ...setting, cluster });
        if (order === undefined) continue;
        inFlight = order.kind === "load" ? order.inFlight : 0;
        const atLeast =
          round < 0
            ? Math.max(inFlight * WARM_UP_PER_LANE, scenario.warmUpRequests ?? 0)
            : inFlight * REQUESTS_PER_LANE;
        const result = await measure(generator, server, order.kind === "load" ? { ...order, atLeast } : order);
        if (round >= 0) measured.get(name)?.push(result);
      }
    }
    process.stderr.write(`${scenario.name}\n`);
    const summaries = new Map([...measured].map(([name, list]) => [name, summarize(list)]));
    const ratio = ratioOf(summaries);
    if (Number.isFinite(ratio)) ratios.set(scenario.name, ratio);
    measuredWorks.set(scenario.name, { inFlight, summaries });
  }
  const rows = [...measuredWorks.keys()].map((work) => rowOf(store, work, measuredWorks));
  process.stdout.write(`${describe(store)}\n\n${renderTable(rows)}\n`);
  await endAll();
  return { ratios };
}

async function endAll(): Promise<void> {
  const ending = started.reverse();
  started = [];
  for (const resource of ending) await resource[Symbol.asyncDispose]();
}

function alsoEnds<T extends AsyncDisposable>(resource: T): T {
  started.push(resource);
  return resource;
}

async function startBare(like: MeasuredServer | undefined, place: string) {
  const [name] = builds.map((build) => build.name);
  const dataDir = join(place, name ?? "");
  const path = fileURLToPath(new URL("./servers/bare-server.ts", import.meta.url));
  const bare = await startProcess(["--import", "tsx", path, join(dataDir, "tls.crt"), join(dataDir, "tls.key")], node);
  return {
    target: { token: "", ...like?.target, url: bare.url },
    pid: bare.pid,
    [Symbol.asyncDispose]: () => bare[Symbol.asyncDispose](),
  };
}

async function measure(generator: LoadGenerator, server: MeasuredServer, order: Order): Promise<Round> {
  let before: number | undefined;
  const report = await generator.run(order, () => {
    before = cpuSeconds(server);
  });
  const after = cpuSeconds(server);
  const used = before === undefined || after === undefined ? undefined : after - before;
  return { report, cpuMicroseconds: used === undefined ? undefined : (used / report.count) * 1e6 };
}

async function fill(generator: LoadGenerator, { target }: MeasuredServer): Promise<void> {
  const report = await generator.run({
    kind: "load",
    target,
    protocol: "h2",
    inFlight: FILL_IN_FLIGHT,
    seconds: Number.MAX_SAFE_INTEGER,
    requests: objects,
    request: { method: "POST", path: COLLECTION, body: accessKeyBody("{n%100}") },
  });
  const failures = JSON.stringify(report.failures);
  if (failures !== "{}") throw new Error(`filling the server failed: ${failures}`);
}

/** Of the first build: its processor time as a multiple of the bare server's. Uses the minimum of each, which other load affects least. */
function ratioOf(summaries: ReadonlyMap<string, Summary | undefined>): number {
  const [own, bare] = [summaries.get(builds[0]?.name ?? ""), summaries.get("bare")];
  return (own?.leastCpuMicroseconds ?? Number.NaN) / (bare?.leastCpuMicroseconds ?? Number.NaN);
}

type Work = { readonly inFlight: number; readonly summaries: ReadonlyMap<string, Summary | undefined> };

/** Per build: processor time above the bare server's, and requests per second. */
function rowOf(store: string, work: string, works: ReadonlyMap<string, Work>): Row {
  const bareOf = (name: string) => works.get(name)?.summaries.get("bare")?.cpuMicroseconds;
  const { inFlight = 0, summaries = new Map() } = works.get(work) ?? {};
  const bare = bareOf(work);
  const cells: [string, string][] = [
    ["work", work],
    ["at once", String(inFlight)],
    ["bare µs", micros(bare)],
  ];
  for (const { name } of builds) {
    const { cpuMicroseconds, perSecond } = summaries.get(name) ?? {};
    const above = (cpuMicroseconds ?? Number.NaN) - (bare ?? Number.NaN);
    cells.push([`${name} µs`, micros(cpuMicroseconds)], [`${name} above bare`, micros(above)]);
    cells.push([`${name} /s`, perSecond?.toFixed(0) ?? ""]);
    cells.push([`${name} × peer`, timesPeer(store, work, perSecond, bareOf)?.toFixed(1) ?? ""]);
  }
  const own = summaries.get(builds[0]?.name ?? "");
  const goal = textOfGoal(store, work, { own, bare, timesPeer: timesPeer(store, work, own?.perSecond, bareOf) });
  const committed = committedRatio(settingOf(store), work);
  cells.push(["× bare", ratioOf(summaries).toFixed(1)], ["committed", committed?.toFixed(1) ?? ""], ["goal", goal]);
  const failures = builds.map(({ name }) => summaries.get(name)?.failures ?? "").filter((text) => text !== "");
  return Object.fromEntries([...cells, ["failures", failures.join("; ")]]);
}

function holdAgainst(factor: number, ratios: ReadonlyMap<string, number>): void {
  for (const [work, ratio] of ratios) {
    const committed = committedRatio(settingOf(options.store), work);
    if (committed === undefined) {
      process.stderr.write(`${work}: nothing is committed for ${settingOf(options.store)}\n`);
    }
    if (committed === undefined || ratio <= committed * factor) continue;
    process.stderr.write(`${work}: ${ratio.toFixed(1)} × bare, committed are ${committed.toFixed(1)}\n`);
    process.exitCode = 1;
  }
}

function micros(value: number | undefined): string {
  return value?.toFixed(value < 1_000 ? 1 : 0) ?? "";
}

function describe(store: string): string {
  const load = `load average ${loadBefore.toFixed(1)} before, ${(loadavg()[0] ?? 0).toFixed(1)} after, this run included`;
  return `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}, Node ${version.slice(1)}, ${store}, ${load};
${objects} objects of 1.2 kB; medians of ${rounds} rounds of ${seconds} s in turns; processor time of all threads of the server;
× peer goes by requests a second, which say something only where the machine has nothing else to do`;
}

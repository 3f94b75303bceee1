// Compares builds with each other and with a bare server, alternating on one machine, by the processor time of a request: absolute
// times depend more on the machine than on the build. Takes about three minutes. Also prints the ratio to the bare server beside that of
// the last committed run (`ratios.json`), and the ratio to kube-apiserver, scaled by the speed of the bare server.
// Usage: npm run benchmarks:compare -- [--builds now=packages/cli/bin/postern.js,before=/other/bin/postern.js] [--node /other/bin/node]
//        [--objects 10000] [--seconds 0.7] [--rounds 3] [--only get,list] [--store sqlite|etcd]
//        [--gate 1.5]: fails if the first build takes more than this multiple of its committed ratio; [--commit]: writes ratios.json
//        [--table]: all rows with goals, and how far each is met: on SQLite, on etcd, and starts; under ten minutes, on Node 24
//        if `npm run nodes` has installed it
//        [--peer https://… --token … [--peer-ca file] [--peer-pid pid]]: a kube-apiserver in the same run, in place of recorded figures

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { startEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { nodeBinary } from "../tools/release/node-binary.ts";
import { measureRound } from "./load/measure-round.ts";
import type { Target } from "./load/order.ts";
import { startLoadGenerator } from "./load/start-load-generator.ts";
import { commitRatios, committedRatio } from "./report/committed-ratios.ts";
import { textOfGoal, worksWithGoals } from "./report/goals.ts";
import { type Round, type Summary, summarize } from "./report/measurement.ts";
import { timesPeer } from "./report/peer-figures.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { measureStarts } from "./report/start-rows.ts";
import { SCENARIOS } from "./scenarios/compared.ts";
import type { Scenario, ServerKind } from "./scenarios/scenario.ts";
import { fillServer } from "./servers/fill-server.ts";
import type { MeasuredServer } from "./servers/measured-server.ts";
import { openPeer, PEER_OPTIONS } from "./servers/open-peer.ts";
import { startBare } from "./servers/start-bare.ts";
import { MAIN, type Postern, startPostern } from "./servers/start-postern.ts";
import { ALLOW_REMOTE_CLUSTERS, openRemoteCluster, openVirtualCluster } from "./servers/virtual-cluster.ts";

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
    ...PEER_OPTIONS,
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
  readonly kind: ServerKind;
  readonly server: MeasuredServer;
  readonly cluster?: Target;
  readonly remote?: Target;
};

const node = options.node ?? (options.table ? nodeBinary("node-24") : process.execPath);
const version = spawnSync(node, ["--version"]).stdout.toString().trim();
/** Ratios are compared with those of the same runtime and kind of store. */
const settingOf = (store: string): string => `${store}, Node ${version.slice(1, 3)}`;

const folder = mkdtempSync(join(tmpdir(), "postern-compare-"));
const loadBefore = loadavg()[0] ?? 0;
const begun = performance.now();
let started: AsyncDisposable[] = [];
/** Of all stores together: they share a peer. */
let run = 0;
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
  const servers: { readonly name: string; readonly server: Postern }[] = [];
  for (const { name, main } of builds) {
    const flags = [...ALLOW_REMOTE_CLUSTERS];
    if (store === "etcd") flags.push("--store", `etcd://${alsoEnds(await startEtcd()).endpoints[0]}`);
    const server: Postern = alsoEnds(await startPostern(join(place, name), main, [], node, flags));
    await fillServer(generator, server, { count: objects });
    servers.push({ name, server });
  }
  const [first] = servers;
  if (first === undefined) throw new Error("there is no build to compare");
  const bare = alsoEnds(await startBare(first.server, join(place, first.name), node));
  const contestants: Contestant[] = [{ name: "bare", kind: "bare", server: bare }];
  for (const { name, server } of servers) {
    const cluster = await openVirtualCluster(server.target);
    const remote = await openRemoteCluster(server.target, bare.target);
    contestants.push({ name, kind: "postern", server, cluster, remote });
  }
  const peer = await openPeer(options);
  if (peer !== undefined) {
    await fillServer(generator, peer, { count: objects });
    contestants.push({ name: "peer", kind: "peer", server: peer });
  }
  const measuredWorks = new Map<string, Work>();
  const ratios = new Map<string, number>();
  for (const scenario of asked) {
    let inFlight = 0;
    const measured = new Map<string, Round[]>(contestants.map(({ name }) => [name, []]));
    // The first round warms up new code.
    for (let round = -1; round < rounds; round++) {
      for (const { name, kind, server, cluster, remote } of contestants) {
        run++;
        const clusters = cluster === undefined || remote === undefined ? {} : { cluster, remote };
        const order = scenario.order({ kind, target: server.target, ...clusters, objects, seconds, run });
        if (order === undefined) continue;
        inFlight = order.kind === "load" ? order.inFlight : 0;
        const atLeast =
          round < 0
            ? Math.max(inFlight * WARM_UP_PER_LANE, scenario.warmUpRequests ?? 0)
            : inFlight * REQUESTS_PER_LANE;
        const result = await measureRound(generator, server, order.kind === "load" ? { ...order, atLeast } : order);
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

/** Of the first build: its processor time as a multiple of the bare server's. Uses the minimum of each, which other load affects least. */
function ratioOf(summaries: ReadonlyMap<string, Summary | undefined>): number {
  const [own, bare] = [summaries.get(builds[0]?.name ?? ""), summaries.get("bare")];
  return (own?.leastCpuMicroseconds ?? Number.NaN) / (bare?.leastCpuMicroseconds ?? Number.NaN);
}

type Work = { readonly inFlight: number; readonly summaries: ReadonlyMap<string, Summary | undefined> };

/** Per build: processor time above the bare server's, and requests per second, which are compared with those of a peer that ran, or with recorded ones. */
function rowOf(store: string, work: string, works: ReadonlyMap<string, Work>): Row {
  const bareOf = (name: string) => works.get(name)?.summaries.get("bare")?.cpuMicroseconds;
  const { inFlight = 0, summaries = new Map<string, Summary | undefined>() } = works.get(work) ?? {};
  const bare = bareOf(work);
  const peer = summaries.get("peer");
  const timesPeerOf = (perSecond: number | undefined) =>
    peer === undefined || perSecond === undefined
      ? timesPeer(store, work, perSecond, bareOf)
      : perSecond / peer.perSecond;
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
    cells.push([`${name} × peer`, timesPeerOf(perSecond)?.toFixed(1) ?? ""]);
  }
  if (peer !== undefined) cells.push(["peer µs", micros(peer.cpuMicroseconds)], ["peer /s", peer.perSecond.toFixed(0)]);
  const own = summaries.get(builds[0]?.name ?? "");
  const goal = textOfGoal(store, work, { own, bare, timesPeer: timesPeerOf(own?.perSecond) });
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

// Shows where the processor time of one kind of request goes: by thread, and by the files and functions of the main thread. Time in
// Node's own code counts for the file that called it.
// Usage: npm run build && npx tsx --conditions=@postern/source benchmarks/profile.ts -- --only "PATCH (merge)"
//        [--server packages/cli/bin/postern.js] [--node /other/bin/node] [--store sqlite|etcd] [--objects 10000] [--warm-up 6000]
//        [--requests 10000] [--interval 200 (µs)] [--rows 40] [--no-samples: the threads alone]
//        [--layers: µs of the main thread by layer, in place of files and functions]

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { hrtime } from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { startLoadGenerator } from "./load/start-load-generator.ts";
import { LAYER_NAMES, layerOf } from "./report/layers.ts";
import { renderTable } from "./report/render-table.ts";
import { SCENARIOS } from "./scenarios/compared.ts";
import { fillServer } from "./servers/fill-server.ts";
import { startBare } from "./servers/start-bare.ts";
import { MAIN, startPostern } from "./servers/start-postern.ts";
import { ALLOW_REMOTE_CLUSTERS, openRemoteCluster, openVirtualCluster } from "./servers/virtual-cluster.ts";

const { values: options } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: {
    only: { type: "string", default: "CREATE, durable, 64" },
    server: { type: "string", default: MAIN },
    node: { type: "string", default: process.execPath },
    store: { type: "string", default: "sqlite" },
    objects: { type: "string", default: "10000" },
    "warm-up": { type: "string", default: "6000" },
    requests: { type: "string", default: "10000" },
    interval: { type: "string", default: "200" },
    rows: { type: "string", default: "40" },
    "no-samples": { type: "boolean", default: false },
    layers: { type: "boolean", default: false },
  },
});
const objects = Number(options.objects);
const scenario = SCENARIOS.find(({ name }) => name.includes(options.only));
if (scenario === undefined) throw new Error(`no scenario is named ${options.only}`);

const IDLE = new Set(["(idle)", "(root)"]);
const maps = new Map<string, SourceMap | undefined>();
const folder = mkdtempSync(join(tmpdir(), "postern-profile-"));
const profiles = join(folder, "profiles");
try {
  await using etcd = options.store === "etcd" ? await startEtcd() : undefined;
  const flags = etcd === undefined ? [] : ["--store", `etcd://${etcd.endpoints[0]}`];
  await using generator = startLoadGenerator();
  const sampling = ["--cpu-prof", `--cpu-prof-dir=${profiles}`, `--cpu-prof-interval=${options.interval}`];
  const nodeOptions = options["no-samples"] ? [] : sampling;
  const dataDir = join(folder, "data");
  const allFlags = [...flags, ...ALLOW_REMOTE_CLUSTERS];
  const server = await startPostern(dataDir, resolve(options.server), nodeOptions, options.node, allFlags);
  const { target, pid = 0 } = server;
  const endless = Number.MAX_SAFE_INTEGER;
  await fillServer(generator, server, { count: objects });
  await using bare = await startBare(server, dataDir, options.node);
  const cluster = await openVirtualCluster(target);
  const remote = await openRemoteCluster(target, bare.target);
  const run = async (count: number, number: number) => {
    const order = scenario.order({ kind: "postern", target, cluster, remote, objects, seconds: endless, run: number });
    if (order?.kind !== "load") throw new Error(`${scenario.name} is no load of requests`);
    let before = threadsOf(pid);
    let begun = 0;
    const report = await generator.run({ ...order, requests: count }, () => {
      before = threadsOf(pid);
      begun = Number(hrtime.bigint() / 1_000n);
    });
    const span = { from: begun, to: Number(hrtime.bigint() / 1_000n) };
    const failures = JSON.stringify(report.failures);
    if (failures !== "{}") throw new Error(`requests failed: ${failures}`);
    return { span, threads: usedSince(before, threadsOf(pid), report.count), perSecond: report.count / report.seconds };
  };
  await run(Number(options["warm-up"]), 1);
  const { span, threads, perSecond } = await run(Number(options.requests), 2);
  await server[Symbol.asyncDispose]();
  process.stdout.write(
    `${scenario.name}, ${perSecond.toFixed(0)} /s; µs of processor time for each request, by thread\n\n`,
  );
  process.stdout.write(`${renderTable(threads)}\n`);
  const ofMain = threads.find(({ thread }) => thread === "main")?.µs;
  if (!options["no-samples"]) printSamples(span, Number(ofMain));
} finally {
  rmSync(folder, { recursive: true });
}

type Used = { readonly name: string; readonly microseconds: number };

/** By thread ID. */
function threadsOf(pid: number): ReadonlyMap<string, Used> {
  const tasks = `/proc/${pid}/task`;
  return new Map(
    readdirSync(tasks).map((task) => {
      const name = task === String(pid) ? "main" : readFileSync(`${tasks}/${task}/comm`, "utf8").trim();
      return [
        task,
        { name, microseconds: Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]) / 1e3 },
      ];
    }),
  );
}

function usedSince(before: ReadonlyMap<string, Used>, after: ReadonlyMap<string, Used>, requests: number) {
  const byName = new Map<string, number>();
  for (const [task, { name, microseconds }] of after) {
    const used = microseconds - (before.get(task)?.microseconds ?? 0);
    byName.set(name, (byName.get(name) ?? 0) + used / requests);
    byName.set("all", (byName.get("all") ?? 0) + used / requests);
  }
  return [...byName].sort(([, a], [, b]) => b - a).map(([thread, used]) => ({ thread, µs: used.toFixed(1) }));
}

// A profile in V8's format.
type ProfileNode = {
  readonly id: number;
  readonly callFrame: { functionName: string; url: string; lineNumber: number; columnNumber: number };
  readonly children?: readonly number[];
};
type Profile = {
  nodes: readonly ProfileNode[];
  startTime: number;
  samples: readonly number[];
  timeDeltas: readonly number[];
};

/** `used`: µs of the main thread per request. */
function printSamples({ from, to }: { readonly from: number; readonly to: number }, used: number): void {
  const main = readdirSync(profiles)
    .map((name) => ({ name, profile: JSON.parse(readFileSync(join(profiles, name), "utf8")) as Profile }))
    .sort((a, b) => b.profile.nodes.length - a.profile.nodes.length)[0]?.profile;
  if (main === undefined) throw new Error("the server has written no profile");
  const nodes = new Map(main.nodes.map((node) => [node.id, node]));
  const parents = new Map(main.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const byLayer = new Map<string, number>();
  const bySelf = new Map<string, number>();
  const byFile = new Map<string, number>();
  const byFunction = new Map<string, number>();
  const add = (to: Map<string, number>, key: string): void => void to.set(key, (to.get(key) ?? 0) + 1);
  let time = main.startTime;
  let count = 0;
  for (const [index, id] of main.samples.entries()) {
    time += main.timeDeltas[index] ?? 0;
    const node = nodes.get(id);
    if (time < from || time > to || node === undefined || IDLE.has(node.callFrame.functionName)) continue;
    count++;
    add(bySelf, placeOf(node));
    let asking: ProfileNode | undefined = node;
    while (asking !== undefined && !asking.callFrame.url.startsWith("file:"))
      asking = nodes.get(parents.get(asking.id) ?? -1);
    add(byFile, fileOf(asking ?? node));
    add(byLayer, layerOf(fileOf(asking ?? node)));
    add(byFunction, placeOf(asking ?? node));
  }
  const shares = (title: string, map: ReadonlyMap<string, number>): void => {
    const rows = [...map].sort(([, a], [, b]) => b - a).slice(0, Number(options.rows));
    const table = rows.map(([place, samples]) => ({ [title]: place, "%": ((100 * samples) / count).toFixed(2) }));
    process.stdout.write(`\n${renderTable(table)}\n`);
  };
  process.stdout.write(`\n${count} samples of the main thread\n`);
  if (options.layers) {
    const rows = LAYER_NAMES.map((layer) => {
      const share = (byLayer.get(layer) ?? 0) / count;
      return { layer, "%": (100 * share).toFixed(1), µs: (share * used).toFixed(0) };
    });
    process.stdout.write(`\n${renderTable(rows)}\n`);
    return;
  }
  shares("file that asked for it", byFile);
  shares("function that asked for it", byFunction);
  shares("function, by itself", bySelf);
}

function mapOf(url: string): SourceMap | undefined {
  if (!maps.has(url)) {
    const path = fileURLToPath(url);
    let map: SourceMap | undefined;
    try {
      map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, "utf8")));
    } catch {
      // Code outside the bundle has none.
    }
    maps.set(url, map);
  }
  return maps.get(url);
}

function fileOf({ callFrame: { url, lineNumber, columnNumber, functionName } }: ProfileNode): string {
  if (url === "") return functionName.startsWith("(") ? functionName : "native";
  if (!url.startsWith("file:")) return url;
  const entry = mapOf(url)?.findEntry(lineNumber, columnNumber);
  const source = entry !== undefined && "originalSource" in entry ? entry.originalSource : basename(url);
  return source
    .replace(/^.*?(?=packages\/|node_modules\/)/, "")
    .replace(/^(?:\.\.\/)+/, "")
    .replace("packages/", "")
    .replace("/src/", "/");
}

function placeOf(node: ProfileNode): string {
  const file = fileOf(node);
  return file === node.callFrame.functionName ? file : `${file} ${node.callFrame.functionName || "(anonymous)"}`;
}

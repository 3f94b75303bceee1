// Measures a whole server over TLS, with the raw ceiling of each figure in the same run, and prints a table. Rounds are interleaved, so
// that other load affects all rows alike; shows medians, and the slowest and fastest round.
// Usage: npm run benchmarks -- [--objects 10000] [--start-objects 100000] [--seconds 2] [--rounds 3] [--only get,list]
//        [--results benchmarks/RESULTS.md] [--peer https://… --token … [--peer-ca file] [--peer-pid pid]]

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Order } from "./load/order.ts";
import { type LoadGenerator, startLoadGenerator } from "./load/start-load-generator.ts";
import { type Comparison, loadRow } from "./report/load-rows.ts";
import { type Round, summarize } from "./report/measurement.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { GETS } from "./scenarios/get.ts";
import { KUBE_CONFIGS } from "./scenarios/kubeconfigs.ts";
import { LISTS } from "./scenarios/lists.ts";
import type { Scenario, ServerKind } from "./scenarios/scenario.ts";
import { WATCH } from "./scenarios/watch.ts";
import { WRITES } from "./scenarios/writes.ts";
import { accessKeyBody, COLLECTION } from "./servers/access-key-object.ts";
import { measureFsync } from "./servers/measure-fsync.ts";
import { cpuSeconds, type MeasuredServer, residentMegabytes } from "./servers/measured-server.ts";
import { preparePeer } from "./servers/prepare-peer.ts";
import { MAIN, type Postern, startPostern } from "./servers/start-postern.ts";
import { startProcess } from "./servers/start-process.ts";

// Lists first, because writes add to what they list.
const SCENARIOS: readonly Scenario[] = [...GETS, ...LISTS, WATCH, ...WRITES, ...KUBE_CONFIGS];
const FILL_IN_FLIGHT = 64;
const WARM_UP_SECONDS = 1;

const { values: options } = parseArgs({
  options: {
    objects: { type: "string", default: "10000" },
    "start-objects": { type: "string", default: "100000" },
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "" },
    server: { type: "string", default: MAIN },
    results: { type: "string" },
    peer: { type: "string" },
    "peer-ca": { type: "string" },
    "peer-pid": { type: "string" },
    token: { type: "string", default: "" },
  },
});
const [objects, startObjects, seconds, rounds] = [
  options.objects,
  options["start-objects"],
  options.seconds,
  options.rounds,
].map(Number) as [number, number, number, number];
const wanted = options.only.split(",").filter((word) => word !== "");
const scenarios = SCENARIOS.filter(
  ({ name }) => wanted.length === 0 || wanted.some((word) => name.toLowerCase().includes(word.toLowerCase())),
);

const folder = mkdtempSync(join(tmpdir(), "postern-benchmarks-"));
try {
  const dataDir = join(folder, "data");
  await using generator = startLoadGenerator();
  const facts: Row[] = [];
  let postern = await startPostern(dataDir, options.server);
  facts.push(fact("start, empty", postern.startMilliseconds, "ms"), memoryFact("memory, idle", postern));
  await fill(generator, postern, 0, objects);
  facts.push(memoryFact(`memory, ${objects} objects just written`, postern));

  const comparisons = await compareAll(generator, postern, dataDir);
  facts.push(memoryFact("memory, after all scenarios", postern));

  if (startObjects > objects) {
    await fill(generator, postern, objects, startObjects - objects);
    await postern[Symbol.asyncDispose]();
    postern = await startPostern(dataDir, options.server);
    facts.push(
      fact(`start, ${startObjects} objects and what the scenarios wrote`, postern.startMilliseconds, "ms"),
      memoryFact("memory, just started with them", postern),
    );
  }
  await postern[Symbol.asyncDispose]();

  const text = [describeMachine(), "", renderTable(comparisons.map(loadRow)), "", renderTable(facts), ""].join("\n");
  process.stdout.write(`${text}\n`);
  if (options.results !== undefined) writeResults(options.results, `# Results of one run\n\n${text}`);
} finally {
  rmSync(folder, { recursive: true });
}

async function compareAll(generator: LoadGenerator, postern: Postern, dataDir: string): Promise<readonly Comparison[]> {
  const bareArguments = [pathOf("./servers/bare-server.ts"), join(dataDir, "tls.crt"), join(dataDir, "tls.key")];
  await using bareProcess = await startProcess(["--import", "tsx", ...bareArguments]);
  const bare = {
    target: { ...postern.target, url: bareProcess.url },
    pid: bareProcess.pid,
  };
  const peer = await openPeer(generator);
  const servers: readonly (readonly [ServerKind, MeasuredServer])[] = [
    ["bare", bare],
    ["postern", postern],
    ...(peer === undefined ? [] : [["peer", peer] as const]),
  ];
  const comparisons: Comparison[] = [];
  let run = 0;
  for (const scenario of scenarios) {
    const measured: { readonly [kind in ServerKind]: Round[] } = { bare: [], postern: [], peer: [] };
    const disk: Round[] = [];
    for (let round = -1; round < rounds; round++) {
      if (scenario.boundByDisk === true && round >= 0) {
        const report = measureFsync(join(folder, "fsync"), seconds / 2);
        disk.push({ report, cpuMicroseconds: undefined });
      }
      for (const [kind, server] of servers) {
        run++;
        const setting = { kind, target: server.target, objects, seconds: round < 0 ? WARM_UP_SECONDS : seconds, run };
        const order = scenario.order(setting);
        if (order === undefined) continue;
        const result = await measure(generator, server, order);
        // The first round warms up new code.
        if (round >= 0) measured[kind].push(result);
      }
    }
    process.stderr.write(`${scenario.name}\n`);
    comparisons.push({
      name: scenario.name,
      postern: summarize(measured.postern),
      ceiling: summarize(scenario.boundByDisk === true ? disk : measured.bare),
      peer: summarize(measured.peer),
    });
  }
  return comparisons;
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

async function openPeer(generator: LoadGenerator): Promise<MeasuredServer | undefined> {
  if (options.peer === undefined) return undefined;
  const ca = options["peer-ca"];
  const pid = options["peer-pid"];
  const target = {
    url: options.peer,
    token: options.token,
    ...(ca === undefined ? {} : { ca: readFileSync(ca, "utf8") }),
  };
  await preparePeer(target);
  const server = { target, ...(pid === undefined ? {} : { pid: Number(pid) }) };
  await fill(generator, server, 0, objects);
  return server;
}

/** Objects `key-<first>` and so on. */
async function fill(generator: LoadGenerator, { target }: MeasuredServer, first: number, count: number): Promise<void> {
  // A hundred teams: the last two digits of the number.
  const report = await generator.run({
    kind: "load",
    target,
    protocol: "h2",
    inFlight: FILL_IN_FLIGHT,
    seconds: Number.MAX_SAFE_INTEGER,
    requests: count,
    request: { method: "POST", path: COLLECTION, body: accessKeyBody("{n%100}"), firstNumber: first },
  });
  // Those of an earlier run on the same peer exist already.
  const failed = Object.keys(report.failures).filter((status) => status !== "409");
  if (failed.length > 0) throw new Error(`filling the server failed: ${JSON.stringify(report.failures)}`);
}

function memoryFact(what: string, server: MeasuredServer): Row {
  return fact(what, residentMegabytes(server) ?? Number.NaN, "MB");
}

function fact(what: string, value: number, unit: string): Row {
  return { "of the process": what, value: `${Math.round(value)} ${unit}` };
}

/** Keeps sections that were written by hand below the tables of an earlier run. */
function writeResults(path: string, text: string): void {
  const before = existsSync(path) ? readFileSync(path, "utf8") : "";
  const at = before.indexOf("\n## ");
  writeFileSync(path, at < 0 ? text : text + before.slice(at));
}

function describeMachine(): string {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  const command = ["npm run benchmarks --", ...process.argv.slice(2)].join(" ");
  return [
    `Command: \`${command}\``,
    `Machine: ${cpus().length} × ${cpu?.model ?? "unknown processor"}, ${memory} GiB, Node ${process.versions.node}, ${process.platform}`,
    `${objects} objects of 1.2 kB; medians of ${rounds} interleaved rounds of ${seconds} s; load generator and servers share the machine.`,
  ].join("  \n");
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

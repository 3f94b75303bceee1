// Measures a whole server over TLS, with the raw ceiling of each figure in the same run, and prints a table. Rounds are interleaved, so
// that other load affects all rows alike; shows medians, and the slowest and fastest round.
// Usage: npm run benchmarks -- [--objects 10000] [--start-objects 100000] [--seconds 2] [--rounds 3] [--only get,list]
//        [--results benchmarks/RESULTS.md] [--peer https://… --token … [--peer-ca file] [--peer-pid pid]]

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readBuildInfo } from "../tools/release/build-info.ts";
import { measureRound } from "./load/measure-round.ts";
import { type LoadGenerator, startLoadGenerator } from "./load/start-load-generator.ts";
import { addToHistory, withNewestRun, writePlots } from "./report/history.ts";
import { type Comparison, loadRow } from "./report/load-rows.ts";
import { type Round, summarize } from "./report/measurement.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { GETS } from "./scenarios/get.ts";
import { KUBE_CONFIGS } from "./scenarios/kubeconfigs.ts";
import { LISTS } from "./scenarios/lists.ts";
import type { Scenario, ServerKind } from "./scenarios/scenario.ts";
import { WATCH } from "./scenarios/watch.ts";
import { WRITES } from "./scenarios/writes.ts";
import { fillServer } from "./servers/fill-server.ts";
import { measureFsync } from "./servers/measure-fsync.ts";
import { type MeasuredServer, residentMegabytes } from "./servers/measured-server.ts";
import { openPeer, PEER_OPTIONS } from "./servers/open-peer.ts";
import { startBare } from "./servers/start-bare.ts";
import { MAIN, type Postern, startPostern } from "./servers/start-postern.ts";

// Lists first, because writes add to what they list.
const SCENARIOS: readonly Scenario[] = [...GETS, ...LISTS, WATCH, ...WRITES, ...KUBE_CONFIGS];
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
    ...PEER_OPTIONS,
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
  await fillServer(generator, postern, { count: objects });
  facts.push(memoryFact(`memory, ${objects} objects just written`, postern));

  const comparisons = await compareAll(generator, postern, dataDir);
  facts.push(memoryFact("memory, after all scenarios", postern));

  if (startObjects > objects) {
    await fillServer(generator, postern, { first: objects, count: startObjects - objects });
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
  if (options.results !== undefined) writeResults(options.results, text, comparisons);
} finally {
  rmSync(folder, { recursive: true });
}

async function compareAll(generator: LoadGenerator, postern: Postern, dataDir: string): Promise<readonly Comparison[]> {
  await using bare = await startBare(postern, dataDir);
  const peer = await openPeer(options);
  if (peer !== undefined) await fillServer(generator, peer, { count: objects });
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
        const result = await measureRound(generator, server, order);
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

function memoryFact(what: string, server: MeasuredServer): Row {
  return fact(what, residentMegabytes(server) ?? Number.NaN, "MB");
}

function fact(what: string, value: number, unit: string): Row {
  return { "of the process": what, value: `${Math.round(value)} ${unit}` };
}

/** Writes the newest table, adds the run to the history, and draws the plots of all rows again. */
function writeResults(path: string, text: string, comparisons: readonly Comparison[]): void {
  writeFileSync(path, withNewestRun(readFileSync(path, "utf8"), text));
  const aboveBare = Object.fromEntries(
    comparisons.flatMap(({ name, postern, ceiling }) => {
      const [now, bare] = [postern?.cpuMicroseconds, ceiling?.cpuMicroseconds];
      return now === undefined || bare === undefined ? [] : [[name, Math.round(now - bare)]];
    }),
  );
  const build = readBuildInfo().commit.slice(0, 8);
  writePlots(addToHistory({ date: new Date().toISOString().slice(0, 10), build, aboveBare }));
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

// Measures builds against each other and against a bare server, in turns on the same machine, by the processor time that a request takes:
// absolute times say more of the machine than of a build. Takes about two minutes.
// Usage: npm run benchmarks:compare -- [--builds now=packages/cli/bin/postern.js,before=/other/bin/postern.js] [--node /other/bin/node]
//        [--objects 10000] [--seconds 0.7] [--rounds 3] [--only get,list]

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Order } from "./load/order.ts";
import { type LoadGenerator, startLoadGenerator } from "./load/start-load-generator.ts";
import { type Round, type Summary, summarize } from "./report/measurement.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { GETS } from "./scenarios/get.ts";
import { KUBE_CONFIGS } from "./scenarios/kube-configs.ts";
import { LISTS } from "./scenarios/lists.ts";
import type { Scenario } from "./scenarios/scenario.ts";
import { WRITES } from "./scenarios/writes.ts";
import { accessKeyBody, COLLECTION } from "./servers/access-key-object.ts";
import { cpuSeconds, type MeasuredServer } from "./servers/measured-server.ts";
import { MAIN, type Postern, startPostern } from "./servers/start-postern.ts";
import { startProcess } from "./servers/start-process.ts";

// Lists first: writes add to what they list.
const SCENARIOS: readonly Scenario[] = [...GETS, ...LISTS, ...WRITES, ...KUBE_CONFIGS];
const FILL_IN_FLIGHT = 64;

const { values: options } = parseArgs({
  options: {
    builds: { type: "string", default: `now=${MAIN}` },
    node: { type: "string", default: process.execPath },
    objects: { type: "string", default: "10000" },
    seconds: { type: "string", default: "0.7" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "" },
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

type Contestant = { readonly name: string; readonly kind: "bare" | "postern"; readonly server: MeasuredServer };

const folder = mkdtempSync(join(tmpdir(), "postern-compare-"));
const loadBefore = loadavg()[0] ?? 0;
const started: AsyncDisposable[] = [];
try {
  const generator = alsoEnds(startLoadGenerator());
  const contestants: Contestant[] = [];
  for (const { name, main } of builds) {
    const server: Postern = alsoEnds(await startPostern(join(folder, name), main, [], options.node));
    await fill(generator, server);
    contestants.push({ name, kind: "postern", server });
  }
  contestants.unshift({ name: "bare", kind: "bare", server: alsoEnds(await startBare(contestants[0]?.server)) });
  const rows: Row[] = [];
  let run = 0;
  for (const scenario of scenarios) {
    const measured = new Map<string, Round[]>(contestants.map(({ name }) => [name, []]));
    // The first round warms up whatever is new to it.
    for (let round = -1; round < rounds; round++) {
      for (const { name, kind, server } of contestants) {
        run++;
        const order = scenario.order({ kind, target: server.target, objects, seconds, run });
        if (order === undefined) continue;
        const result = await measure(generator, server, order);
        if (round >= 0) measured.get(name)?.push(result);
      }
    }
    process.stderr.write(`${scenario.name}\n`);
    rows.push(rowOf(scenario.name, new Map([...measured].map(([name, list]) => [name, summarize(list)]))));
  }
  process.stdout.write(`${describe()}\n\n${renderTable(rows)}\n`);
} finally {
  for (const resource of started.reverse()) await resource[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
}

function alsoEnds<T extends AsyncDisposable>(resource: T): T {
  started.push(resource);
  return resource;
}

async function startBare(like: MeasuredServer | undefined) {
  const [name] = builds.map((build) => build.name);
  const dataDir = join(folder, name ?? "");
  const path = fileURLToPath(new URL("./servers/bare-server.ts", import.meta.url));
  const bare = await startProcess(
    ["--import", "tsx", path, join(dataDir, "tls.crt"), join(dataDir, "tls.key")],
    options.node,
  );
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

/** Of each build: processor time above the bare server's, and requests a second. */
function rowOf(work: string, summaries: ReadonlyMap<string, Summary | undefined>): Row {
  const bare = summaries.get("bare");
  const cells: [string, string][] = [
    ["work", work],
    ["bare µs", micros(bare?.cpuMicroseconds)],
  ];
  for (const { name } of builds) {
    const summary = summaries.get(name);
    const { cpuMicroseconds } = summary ?? {};
    const above = (cpuMicroseconds ?? Number.NaN) - (bare?.cpuMicroseconds ?? Number.NaN);
    cells.push([`${name} µs`, micros(cpuMicroseconds)], [`${name} above bare`, micros(above)]);
    cells.push([`${name} /s`, summary === undefined ? "" : summary.perSecond.toFixed(0)]);
  }
  const failures = builds.map(({ name }) => summaries.get(name)?.failures ?? "").filter((text) => text !== "");
  return Object.fromEntries([...cells, ["failures", failures.join("; ")]]);
}

function micros(value: number | undefined): string {
  return value?.toFixed(value < 1_000 ? 1 : 0) ?? "";
}

function describe(): string {
  const load = `load average ${loadBefore.toFixed(1)} before, ${(loadavg()[0] ?? 0).toFixed(1)} after, this run included`;
  return `${cpus().length} × ${cpus()[0]?.model ?? "unknown processor"}, ${options.node}, ${load};
${objects} objects of 1.2 kB; medians of ${rounds} rounds of ${seconds} s in turns; processor time of all threads of the server`;
}

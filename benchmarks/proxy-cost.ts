// Processor time of a GET through the proxy: builds beside each other and beside a proxy in Node that does nothing else, in turns, with a fixed number of
// requests. Other work on the machine changes it little, unlike rates. Of a build, the main thread and the threads beside it are shown apart.
// Usage: npm run build && npx tsx --conditions=@postern/source benchmarks/proxy-cost.ts [--builds now=packages/cli/bin/postern.js,before=/other/bin/postern.js]
//        [--requests 4000] [--rounds 7] [--in-flight 32] [--long] [--cpu-prof folder] [--node /other/bin/node]
//        --long: lists of 5 MB in place of a ConfigMap, a hundredth as many
//        [--peer https://… --token … --peer-ca file]: a kube-apiserver; without one, the cluster is the bare server

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Target } from "./load/order.ts";
import { type ProcessorTime, processorTime, totalOf } from "./load/processor-time.ts";
import { median } from "./report/median.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import type { MeasuredServer } from "./servers/measured-server.ts";
import { openPeer, PEER_OPTIONS } from "./servers/open-peer.ts";
import { CONFIG_MAPS, createPeerConfigMaps, LONG_LIST, SHORT_ANSWER } from "./servers/peer-config-maps.ts";
import { startBare } from "./servers/start-bare.ts";
import { MAIN, startPostern } from "./servers/start-postern.ts";
import { startProcess } from "./servers/start-process.ts";
import { ALLOW_REMOTE_CLUSTERS, openRemoteCluster, REMOTE_CLUSTER } from "./servers/virtual-cluster.ts";

const { values: options } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: {
    builds: { type: "string", default: `now=${MAIN}` },
    requests: { type: "string", default: "4000" },
    rounds: { type: "string", default: "7" },
    "in-flight": { type: "string", default: "32" },
    long: { type: "boolean", default: false },
    "cpu-prof": { type: "string" },
    node: { type: "string", default: process.execPath },
    ...PEER_OPTIONS,
  },
});
const rounds = Number(options.rounds);
const requests = options.long ? Math.ceil(Number(options.requests) / 100) : Number(options.requests);
const connections = Number(options["in-flight"]);
const longPath = options.peer === undefined ? `${CONFIG_MAPS}/bytes-5000000` : LONG_LIST;
const path = options.long ? longPath : SHORT_ANSWER;
const BARE_PROXY = fileURLToPath(new URL("./servers/bare-proxy.ts", import.meta.url));

type Measured = { readonly name: string; readonly server: MeasuredServer; readonly rounds: ProcessorTime[] };

const folder = mkdtempSync(join(tmpdir(), "postern-proxy-cost-"));
const started: AsyncDisposable[] = [];
try {
  const measured = await startAll();
  for (let round = -2; round < rounds; round++) {
    for (const { server, rounds: own } of measured) {
      const time = processorTime(server, { paths: [path], requests, connections });
      // The first rounds warm up new code.
      if (round >= 0) own.push(time);
    }
  }
  show(measured);
} finally {
  for (const server of started.toReversed()) await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
}

/** The builds, each on a server of its own, and the bare proxies to the same cluster. */
async function startAll(): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  let cluster = await openPeer(options);
  if (cluster !== undefined) await createPeerConfigMaps(cluster.target);
  for (const build of options.builds.split(",")) {
    const [name = "", main = ""] = build.split("=");
    const dataDir = join(folder, name);
    const profile = options["cpu-prof"];
    const nodeOptions = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${join(profile, name)}`];
    const postern = await startPostern(dataDir, resolve(main), nodeOptions, options.node, ALLOW_REMOTE_CLUSTERS);
    started.push(postern);
    if (cluster === undefined) {
      const bare = await startBare(postern, dataDir, options.node);
      started.push(bare);
      cluster = bare;
    }
    const caller = await openRemoteCluster(postern.target, cluster.target);
    const target = { ...caller, url: `${caller.url}${REMOTE_CLUSTER}` };
    measured.push({ name, server: { ...postern, target }, rounds: [] });
    if (measured.length === 1) measured.push(...(await startBareProxies(dataDir, cluster.target)));
  }
  return measured;
}

async function startBareProxies(dataDir: string, { url, ca = "", token }: Target): Promise<readonly Measured[]> {
  const authority = join(folder, "cluster.crt");
  writeFileSync(authority, ca);
  const certificate = [join(dataDir, "tls.crt"), join(dataDir, "tls.key")];
  const measured: Measured[] = [];
  for (const client of ["undici", "https"]) {
    const proxy = await startProcess(
      ["--import", "tsx", BARE_PROXY, ...certificate, url, authority, token, client],
      options.node,
    );
    started.push(proxy);
    measured.push({
      name: `bare proxy in Node, by ${client}`,
      server: { target: { url: proxy.url, token }, pid: proxy.pid },
      rounds: [],
    });
  }
  return measured;
}

function show(measured: readonly Measured[]): void {
  const floor = median((measured[1] as Measured).rounds.map(totalOf));
  const rows = measured.map(({ name, rounds: own }): Row => {
    const all = own.map(totalOf);
    return {
      "GET through": name,
      "CPU µs": median(all).toFixed(0),
      least: Math.min(...all).toFixed(0),
      most: Math.max(...all).toFixed(0),
      "main thread": median(own.map(({ main }) => main)).toFixed(0),
      "other threads": median(own.map(({ beside }) => beside)).toFixed(0),
      "of the bare proxy": (median(all) / floor).toFixed(2),
    };
  });
  process.stdout.write(`${renderTable(rows)}\n`);
}

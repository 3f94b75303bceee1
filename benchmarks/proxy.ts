// Requests through the proxy to a cluster that others run, beside the same requests to that cluster directly: GETs by `wrk` and `h2load`, and
// long answers. Rounds take turns; shows medians. Without a peer, the cluster is the bare server.
// Usage: npm run build && npx tsx --conditions=@postern/source benchmarks/proxy.ts [--seconds 3] [--rounds 3] [--in-flight 32]
//        [--builds now=packages/cli/bin/postern.js,before=/other/bin/postern.js] [--node /other/bin/node] [--cpu-prof folder] [--streams]
//        [--peer https://… --token … [--peer-ca file] [--peer-pid pid]]: a kube-apiserver
//        [--tunnel]: also through the tunnel of an agent, which needs a peer

import { mkdtempSync, rmSync } from "node:fs";
import { request as askHttps } from "node:https";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { createTeardown } from "@postern/apiserver/runtime/teardown";
import { asMeasured } from "./load/fork-worker.ts";
import { type IndependentLoad, installedLoads } from "./load/independent-load.ts";
import type { Target } from "./load/order.ts";
import { type Round, type Summary, summarize } from "./report/measurement.ts";
import { median } from "./report/median.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { askText, RefusedError } from "./servers/ask-text.ts";
import { cpuSeconds, type MeasuredServer, residentMegabytes } from "./servers/measured-server.ts";
import { openPeer, PEER_OPTIONS } from "./servers/open-peer.ts";
import { CONFIG_MAPS, createPeerConfigMaps, LONG_LIST, SHORT_ANSWER } from "./servers/peer-config-maps.ts";
import { type StartedAgent, startAgent, TUNNELLED_CLUSTER } from "./servers/start-agent.ts";
import { startBare } from "./servers/start-bare.ts";
import { MAIN, startPostern } from "./servers/start-postern.ts";
import { ALLOW_REMOTE_CLUSTERS, openRemoteCluster, REMOTE_CLUSTER } from "./servers/virtual-cluster.ts";

const { values: options } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: {
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" },
    "in-flight": { type: "string", default: "32" },
    builds: { type: "string", default: `=${MAIN}` },
    node: { type: "string", default: process.execPath },
    "cpu-prof": { type: "string" },
    streams: { type: "boolean", default: false },
    tunnel: { type: "boolean", default: false },
    ...PEER_OPTIONS,
  },
});
const [seconds, rounds, inFlight] = [options.seconds, options.rounds, options["in-flight"]].map(Number) as [
  number,
  number,
  number,
];

const LONG_ANSWERS =
  options.peer === undefined ? [`${CONFIG_MAPS}/bytes-100000000`, `${CONFIG_MAPS}/bytes-10000000`] : [LONG_LIST];

/** Of answers before those that are measured: the code of a stream is slow until it is compiled. */
const WARM_MS = 5_000;

/** How requests come to the cluster. */
type Way = { readonly name: string; readonly server: MeasuredServer; readonly agent?: StartedAgent };

const folder = mkdtempSync(join(tmpdir(), "postern-proxy-"));
const profile = options["cpu-prof"];
const nodeOptions = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
const started = createTeardown();
try {
  const peer = await openPeer(options);
  if (peer !== undefined) await createPeerConfigMaps(peer.target);
  let cluster = peer;
  const proxied: Way[] = [];
  for (const [at, build] of options.builds.split(",").entries()) {
    const name = build.slice(0, build.indexOf("="));
    const main = resolve(build.slice(name.length + 1));
    const dataDir = join(folder, String(at));
    const postern = started.use(await startPostern(dataDir, main, nodeOptions, options.node, ALLOW_REMOTE_CLUSTERS));
    cluster ??= started.use(await startBare(postern, dataDir, options.node));
    const caller = await openRemoteCluster(postern.target, cluster.target);
    const through = { ...caller, url: `${caller.url}${REMOTE_CLUSTER}` };
    const suffix = name === "" ? "" : `, ${name}`;
    proxied.push({ name: `through the proxy${suffix}`, server: { ...postern, target: through } });
    if (!options.tunnel) continue;
    const agent = started.use(await connectByAgent(dataDir, postern.target, cluster.target, main));
    proxied.push({ name: `through the tunnel${suffix}`, server: tunnelled(postern), agent });
  }
  if (cluster === undefined) throw new Error("there is no build");
  const ways: Way[] = [{ name: "direct", server: cluster }, ...proxied];
  const rows: Row[] = [];
  for (const load of installedLoads()) rows.push(...(await compare(load, ways)));
  process.stdout.write(`${renderTable(rows)}\n`);
  if (options.streams) {
    const long: Row[] = [];
    for (const path of LONG_ANSWERS)
      for (const way of ways.slice(1)) long.push(await compareLong(path, cluster.target, way));
    process.stdout.write(`\n${renderTable(long)}\n`);
  }
} finally {
  await started.run();
  rmSync(folder, { recursive: true });
}

function tunnelled(postern: MeasuredServer): MeasuredServer {
  return { ...postern, target: { ...postern.target, url: `${postern.target.url}${TUNNELLED_CLUSTER}` } };
}

/** The cluster's own RBAC has to let the administrator of the platform in. */
async function connectByAgent(dataDir: string, platform: Target, cluster: Target, main: string): Promise<StartedAgent> {
  const group = "rbac.authorization.k8s.io";
  const binding = {
    ...{
      metadata: { name: "platform-admin" },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
    },
    subjects: [{ apiGroup: group, kind: "User", name: "admin" }],
  };
  await askText(cluster, "POST", `/apis/${group}/v1/clusterrolebindings`, JSON.stringify(binding)).catch((error) => {
    if (!(error instanceof RefusedError && error.status === 409)) throw error;
  });
  return await startAgent(platform, cluster, { folder: dataDir, main, node: options.node, nodeOptions });
}

async function compare(load: IndependentLoad, ways: readonly Way[]): Promise<readonly Row[]> {
  const measured = ways.map((way) => ({ ...way, rounds: [] as Round[], ofAgent: [] as number[] }));
  for (let round = -1; round < rounds; round++) {
    for (const { server, agent, rounds: own, ofAgent } of measured) {
      const spent = () => [server, asMeasured(agent ?? { pid: process.pid })].map((each) => cpuSeconds(each));
      const before = spent();
      const report = await load.run({ target: server.target, path: SHORT_ANSWER, inFlight, seconds });
      const [used, usedByAgent] = spent().map((after, at) => {
        const first = before[at];
        return after === undefined || first === undefined ? undefined : ((after - first) / report.count) * 1e6;
      });
      // The first round warms up new code.
      if (round < 0) continue;
      own.push({ report, cpuMicroseconds: used });
      if (agent !== undefined && usedByAgent !== undefined) ofAgent.push(usedByAgent);
    }
  }
  const direct = summarize(measured[0]?.rounds ?? []);
  return measured.map(({ name, rounds: own, ofAgent }, at) => ({
    ...row(`${load.name}, ${name}`, summarize(own), at === 0 ? undefined : direct),
    "agent's CPU µs": ofAgent.length === 0 ? "" : median(ofAgent).toFixed(0),
  }));
}

function row(work: string, own: Summary | undefined, direct?: Summary): Row {
  const compared = own !== undefined && direct !== undefined;
  return {
    "GET of a ConfigMap": work,
    "per second": own?.perSecond.toFixed(0) ?? "",
    "p50 ms": own?.p50.toFixed(1) ?? "",
    "p99 ms": own?.p99.toFixed(1) ?? "",
    "CPU µs": own?.cpuMicroseconds?.toFixed(0) ?? "",
    "of direct": compared ? (own.perSecond / direct.perSecond).toFixed(2) : "",
    "p50 × direct": compared ? (own.p50 / direct.p50).toFixed(1) : "",
    "p99 × direct": compared ? (own.p99 / direct.p99).toFixed(1) : "",
    failures: own?.failures ?? "",
  };
}

/** The same answer by both ways in turns; the growth of the server's memory is the largest that was seen. */
async function compareLong(path: string, direct: Target, { name, server: proxy }: Way): Promise<Row> {
  const rates: { readonly [way in "direct" | "proxied"]: number[] } = { direct: [], proxied: [] };
  for (const from = performance.now(); performance.now() - from < WARM_MS; ) await download(proxy.target, path);
  const before = residentMegabytes(proxy) ?? Number.NaN;
  const usedBefore = cpuSeconds(proxy) ?? Number.NaN;
  let most = before;
  const watching = setInterval(() => {
    most = Math.max(most, residentMegabytes(proxy) ?? 0);
  }, 20);
  for (let round = 0; round < rounds; round++) {
    rates.direct.push(await download(direct, path));
    rates.proxied.push(await download(proxy.target, path));
  }
  clearInterval(watching);
  const used = ((cpuSeconds(proxy) ?? Number.NaN) - usedBefore) / rounds;
  const [ofDirect, ofProxy] = [median(rates.direct), median(rates.proxied)];
  return {
    answer: `${path}, ${name}`,
    "direct MB/s": ofDirect.toFixed(0),
    "proxied MB/s": ofProxy.toFixed(0),
    "of direct": (ofProxy / ofDirect).toFixed(2),
    "CPU ms": (used * 1_000).toFixed(1),
    "memory MB": `+${(most - before).toFixed(0)}`,
  };
}

/** Megabytes a second. */
function download({ url, ca, token }: Target, path: string): Promise<number> {
  const from = performance.now();
  let bytes = 0;
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const asked = askHttps(`${url}${path}`, { headers, ...(ca === undefined ? {} : { ca }) }, (response) => {
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on("error", reject);
      response.on("end", () => resolve(bytes / 1_000 / (performance.now() - from)));
    });
    asked.on("error", reject);
    asked.end();
  });
}

// Tunnels of clusters and watches through them: memory and processor time of the server at rest, with the tunnels, with the watches, and for each event. The
// agents and the watchers are processes of their own.
// Usage: npm run build && npx tsx --conditions=@postern/source benchmarks/cluster-tunnels.ts [--clusters 200] [--watches 10000] [--events 20000] [--seconds 20]
//        [--cpu-prof folder] [--server packages/cli/bin/postern.js]

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { PEER_UID } from "@postern/platform/features/cluster-tunnels/testing/fake-agent";
import { asMeasured, forkWorker } from "./load/fork-worker.ts";
import type { AgentsOrder } from "./load/tunnel-agents.ts";
import type { WatchersOrder } from "./load/tunnel-watchers.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { GROUP } from "./servers/access-key-object.ts";
import { askText } from "./servers/ask-text.ts";
import { cpuSeconds, residentMegabytes } from "./servers/measured-server.ts";
import { MAIN, startPostern } from "./servers/start-postern.ts";

const { values: options } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: {
    clusters: { type: "string", default: "200" },
    watches: { type: "string", default: "10000" },
    events: { type: "string", default: "20000" },
    seconds: { type: "string", default: "20" },
    server: { type: "string", default: MAIN },
    "cpu-prof": { type: "string" },
  },
});
const [clusters, watches, events, seconds] = [options.clusters, options.watches, options.events, options.seconds].map(
  Number,
) as [number, number, number, number];
const TUNNELS = 2;

const folder = mkdtempSync(join(tmpdir(), "postern-tunnels-"));
const rows: Row[] = [];
try {
  const profile = options["cpu-prof"];
  const nodeOptions = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  await using server = await startPostern(folder, resolve(options.server), nodeOptions);
  await using agents = forkWorker<AgentsOrder>(new URL("./load/tunnel-agents.ts", import.meta.url));
  await using watchers = forkWorker<WatchersOrder>(new URL("./load/tunnel-watchers.ts", import.meta.url));
  const { target } = server;
  const processes = { server, agents: asMeasured(agents), watchers: asMeasured(watchers) };
  const measure = async (what: string, work: () => Promise<number>): Promise<void> => {
    const used = () => Object.values(processes).map((each) => cpuSeconds(each) ?? 0);
    const [before, begun] = [used(), performance.now()];
    const count = await work();
    const elapsed = (performance.now() - begun) / 1_000;
    const spent = used().map((after, at) => after - (before[at] ?? 0));
    const row: { [column: string]: string } = { "": what, seconds: elapsed.toFixed(1) };
    for (const [at, [name, each]] of Object.entries(processes).entries()) {
      row[`${name}: MB`] = (residentMegabytes(each) ?? 0).toFixed(0);
      row[`${name}: µs each`] = count === 0 ? "" : (((spent[at] ?? 0) * 1e6) / count).toFixed(0);
    }
    row["server: share of a core"] = ((spent[0] ?? 0) / elapsed).toFixed(3);
    rows.push(row);
    console.error(row);
  };
  const rest = async (): Promise<number> => {
    await sleep(seconds * 1_000);
    return 0;
  };

  await measure("no tunnel, at rest", rest);
  await measure(`${clusters} clusters join`, async () => {
    const keys: string[] = [];
    for (let at = 0; at < clusters; at++) keys.push(await joinCluster(`c${at}`));
    await agents.run({ kind: "open", url: target.url, caPath: join(folder, "ca.crt"), keys, tunnels: TUNNELS });
    return clusters;
  });
  await measure(`${clusters * TUNNELS} tunnels, at rest`, rest);
  await measure(`${watches} watches begin`, async () => {
    const path = "/kubernetes/cluster/c{n}/api/v1/namespaces/default/configmaps?watch=1";
    await watchers.run({ kind: "open", target, path, watches, clusters });
    return watches;
  });
  await measure(`${watches} watches, at rest`, rest);
  await measure(`${events} events in ${seconds} s`, async () => {
    await Promise.all([watchers.run({ kind: "receive", events }), agents.run({ kind: "send", events, seconds })]);
    return events;
  });

  /** Resolves with the key of the agent. */
  async function joinCluster(name: string): Promise<string> {
    const body = { metadata: { name }, spec: { networkPeer: true } };
    await askText(target, "POST", `/apis/${GROUP}/v1/clusters`, JSON.stringify(body));
    const made = JSON.parse(await askText(target, "POST", `/apis/${GROUP}/v1/clusters/${name}/join`, "{}"));
    const value = made.status.url.slice(made.status.url.lastIndexOf("/") + 1);
    const exchanged = await askText(target, "POST", "/join", JSON.stringify({ value, clusterUid: PEER_UID }));
    return JSON.parse(exchanged).key;
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(renderTable(rows));
process.exit(0);

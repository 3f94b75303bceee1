// Memory of an agent: at rest, with watches through it, and beside those with requests and with a body of 100 MB, and when all of it is over.
// Usage: npm run build && npx tsx --conditions=@postern/source benchmarks/agent-memory.ts [--watches 100] [--requests 200] [--seconds 20] [--megabytes 100]
//        [--agent packages/cli/bin/postern.js] [--node /other/bin/node] [--node-options=--max-semi-space-size=1] [--env MALLOC_ARENA_MAX=1]

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { asMeasured, forkWorker } from "./load/fork-worker.ts";
import type { Target } from "./load/order.ts";
import type { WatchersOrder } from "./load/tunnel-watchers.ts";
import { type Row, renderTable } from "./report/render-table.ts";
import { askText } from "./servers/ask-text.ts";
import { cpuSeconds } from "./servers/measured-server.ts";
import { startAgent, TUNNELLED_CLUSTER } from "./servers/start-agent.ts";
import { MAIN, startPostern } from "./servers/start-postern.ts";
import { startProcess } from "./servers/start-process.ts";

const { values: options } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: {
    watches: { type: "string", default: "100" },
    requests: { type: "string", default: "200" },
    seconds: { type: "string", default: "20" },
    megabytes: { type: "string", default: "100" },
    agent: { type: "string", default: MAIN },
    node: { type: "string", default: process.execPath },
    "node-options": { type: "string", default: "" },
    env: { type: "string", multiple: true, default: [] },
  },
});
const [watches, perSecond, seconds, megabytes] = [
  options.watches,
  options.requests,
  options.seconds,
  options.megabytes,
].map(Number) as [number, number, number, number];
const CLUSTER = fileURLToPath(new URL("./servers/streaming-cluster.ts", import.meta.url));
const SAMPLED_MS = 50;
const AT_ONCE = 20;

const folder = mkdtempSync(join(tmpdir(), "postern-agent-"));
const rows: Row[] = [];
try {
  await using platform = await startPostern(folder, MAIN);
  const files = [join(folder, "tls.crt"), join(folder, "tls.key")];
  await using cluster = await startProcess(["--import", "tsx", CLUSTER, ...files]);
  const { target } = platform;
  await using agent = await startAgent(
    target,
    { url: cluster.url, ca: target.ca ?? "", token: "of-the-agent" },
    {
      folder,
      main: resolve(options.agent),
      node: options.node,
      nodeOptions: options["node-options"].split(" ").filter((option) => option !== ""),
      env: Object.fromEntries(options.env.map((each) => each.split("=", 2) as [string, string])),
    },
  );
  await using watchers = forkWorker<WatchersOrder>(new URL("./load/tunnel-watchers.ts", import.meta.url));
  const through = { ...target, url: `${target.url}${TUNNELLED_CLUSTER}` };

  const measure = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const samples: Resident[] = [];
    const sampling = setInterval(() => samples.push(residentOf(agent.pid)), SAMPLED_MS);
    const before = cpuSeconds(asMeasured(agent)) ?? 0;
    const begun = performance.now();
    await work().finally(() => clearInterval(sampling));
    const elapsed = (performance.now() - begun) / 1_000;
    const totals = samples.map(({ total }) => total).sort((one, other) => one - other);
    const last = residentOf(agent.pid);
    const row = {
      "": what,
      "median MB": (totals[totals.length >> 1] ?? 0).toFixed(1),
      "most MB": (totals.at(-1) ?? 0).toFixed(1),
      "at the end MB": last.total.toFixed(1),
      "of it files": last.files.toFixed(1),
      "share of a core": (((cpuSeconds(asMeasured(agent)) ?? 0) - before) / elapsed).toFixed(2),
    };
    rows.push(row);
    console.error(Object.values(row).join("  "));
  };

  const rest = () => sleep(seconds * 1_000);
  const openWatches: WatchersOrder = {
    ...{ kind: "open", target, path: `${TUNNELLED_CLUSTER}/api/v1/namespaces/default/configmaps?watch=1` },
    ...{ watches, clusters: 1 },
  };
  await measure("at rest", rest);
  await measure(`${watches} watches begin`, () => watchers.run(openWatches));
  await measure("each has an event a second", rest);
  await measure(`and ${perSecond} requests a second`, () => sendRequests(through));
  await measure(`and a body of ${megabytes} MB, and requests`, () =>
    Promise.all([sendRequests(through), download(through)]),
  );
  await watchers[Symbol.asyncDispose]();
  await measure("at rest again", rest);
} finally {
  rmSync(folder, { recursive: true });
}
console.log(renderTable(rows));
process.exit(0);

type Resident = { readonly total: number; readonly files: number };

/** In MB. */
function residentOf(pid: number): Resident {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0) / 1_000;
  return { total: of("VmRSS"), files: of("RssFile") };
}

/** As many a second as it is to be, for as long as their answers come: a slow machine is asked for less. */
async function sendRequests(through: Target): Promise<void> {
  const pending = new Set<Promise<unknown>>();
  let failed = 0;
  const begun = performance.now();
  for (let sent = 0; sent < perSecond * seconds; sent++) {
    const ahead = (sent / perSecond) * 1_000 - (performance.now() - begun);
    if (ahead > 1) await sleep(ahead);
    while (pending.size >= AT_ONCE) await Promise.race(pending);
    const asked = askText(through, "GET", "/api/v1/namespaces/default/configmaps/a").catch(() => failed++);
    pending.add(asked);
    void asked.then(() => pending.delete(asked));
  }
  await Promise.all(pending);
  // Such as one on a connection that the server had just closed.
  if (failed > 0) console.error(`${failed} of ${perSecond * seconds} requests failed`);
}

function download({ url, ca, token }: Target): Promise<void> {
  const path = `/api/v1/namespaces/default/pods/a/log?limitBytes=${megabytes << 20}`;
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((done, reject) => {
    const sent = request(`${url}${path}`, { headers, ...(ca === undefined ? {} : { ca }) }, (response) => {
      response.on("error", reject).once("end", done).resume();
    });
    sent.on("error", reject).end();
  });
}

// Requests to an embedded virtual cluster as its users send them: over TLS, through the proxy, with the key of a kubeconfig for
// this one cluster. Rounds of all kinds are interleaved; shows medians, and the slowest and fastest round.
// Usage: npm run build && npx tsx benchmarks/virtual-cluster-requests.ts [--objects 5000] [--seconds 2] [--rounds 3]

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { LoadOrder, Protocol, RequestPattern, Target } from "./load/order.ts";
import { startLoadGenerator } from "./load/start-load-generator.ts";
import { loadRow } from "./report/load-rows.ts";
import { type Round, summarize } from "./report/measurement.ts";
import { renderTable } from "./report/render-table.ts";
import { NUMBERS_PER_RUN } from "./scenarios/scenario.ts";
import { cpuSeconds } from "./servers/measured-server.ts";
import { MAIN, startPostern } from "./servers/start-postern.ts";
import { CONFIG_MAPS, INSTANCE, openVirtualCluster } from "./servers/virtual-cluster.ts";

const CREATE: RequestPattern = {
  method: "POST",
  path: CONFIG_MAPS,
  body: JSON.stringify({ metadata: { name: "map-{n}" }, data: { text: "x".repeat(400) } }),
};

const { values: options } = parseArgs({
  options: {
    objects: { type: "string", default: "5000" },
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "3" },
  },
});
const [objects, seconds, rounds] = [options.objects, options.seconds, options.rounds].map(Number) as [
  number,
  number,
  number,
];

type Work = { readonly name: string; order(target: Target, run: number): LoadOrder };

const work = (name: string, protocol: Protocol, inFlight: number, pattern: (run: number) => RequestPattern): Work => ({
  name,
  order: (target, run) => ({ kind: "load", target, protocol, inFlight, seconds, request: pattern(run) }),
});

const get = { method: "GET", path: `${CONFIG_MAPS}/map-{n}`, numbers: objects };
const KINDS: readonly Work[] = [
  // The overhead of the proxy: the same key reads what it may of the management API.
  work("GET in the management API, HTTP/2, 32 streams", "h2", 32, () => ({ method: "GET", path: INSTANCE })),
  work("GET by name, HTTP/1.1, 32 connections", "h1", 32, () => get),
  work("GET by name, HTTP/2, 32 streams", "h2", 32, () => get),
  work("LIST 500 by limit", "h2", 4, () => ({ method: "GET", path: `${CONFIG_MAPS}?limit=500` })),
  work("LIST all", "h2", 4, () => ({ method: "GET", path: CONFIG_MAPS })),
  work("CREATE, durable, 64 at once", "h2", 64, (run) => ({ ...CREATE, firstNumber: run * NUMBERS_PER_RUN })),
];

const folder = mkdtempSync(join(tmpdir(), "postern-benchmarks-"));
try {
  await using postern = await startPostern(join(folder, "data"), MAIN);
  await using generator = startLoadGenerator();
  const target = await openVirtualCluster(postern.target);
  const filled = await generator.run({
    kind: "load",
    target,
    protocol: "h2",
    inFlight: 64,
    seconds: Number.MAX_SAFE_INTEGER,
    requests: objects,
    request: CREATE,
  });
  if (Object.keys(filled.failures).length > 0) throw new Error(`filling failed: ${JSON.stringify(filled.failures)}`);

  const measured = new Map<string, Round[]>(KINDS.map(({ name }) => [name, []]));
  let run = 0;
  for (let round = -1; round < rounds; round++) {
    for (const { name, order } of KINDS) {
      let before = 0;
      const report = await generator.run(order(target, ++run), () => {
        before = cpuSeconds(postern) ?? 0;
      });
      const used = (cpuSeconds(postern) ?? Number.NaN) - before;
      // The first round warms up new code.
      if (round >= 0) measured.get(name)?.push({ report, cpuMicroseconds: (used / report.count) * 1e6 });
    }
  }
  const rows = KINDS.map(({ name }) =>
    loadRow({ name, postern: summarize(measured.get(name) ?? []), ceiling: undefined, peer: undefined }),
  );
  const shown = rows.map(({ ceiling: _1, "of ceiling": _2, "ceiling CPU µs": _3, ...row }) => row);
  process.stdout.write(
    `${objects} config maps of 0.4 kB; medians of ${rounds} interleaved rounds of ${seconds} s\n\n${renderTable(shown)}\n`,
  );
} finally {
  rmSync(folder, { recursive: true });
}

// The cost of embedded virtual clusters: creation, restart, memory while running and stopped, and processor time while idle.
// With definitions: the same with this many identical CustomResourceDefinitions in each, and the time to the first response.
// Usage: tools/nodes/node_modules/node-24/bin/node --conditions=@postern/source --expose-gc benchmarks/embedded-clusters.ts [clusters] [definitions in each]
// tsx names every closure, which takes more memory than the closure itself.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createControlled } from "@postern/apiserver/controllers/controlled-objects";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { createEmbeddedClusters } from "@postern/platform/features/virtual-clusters/embedded/embedded-clusters";
import { createInternalValues } from "@postern/platform/foundation/encryption/internal-records";
import { createFixedKeyRing } from "@postern/platform/foundation/encryption/key-ring";
import { SERVED_VERSION } from "@postern/platform/foundation/served-version";
import { createAddressRules } from "@postern/platform/foundation/upstream/address-rules";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";

const { signal } = new AbortController();
const count = Number(process.argv[2] ?? 1000);
const definitions = Number(process.argv[3] ?? 0);
const uidOf = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;

/** Of the current state, without the history that a store keeps for a while. */
async function residentMegabytes(): Promise<number> {
  await storage.compact(await storage.currentRevision());
  for (let round = 0; round < 4; round++) {
    // Ended work is released in later turns: with a store in memory, everything else here runs in one.
    await sleep(50);
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;

/** The milliseconds of each call, sorted. */
async function timesOf(run: (index: number) => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now();
    await run(index);
    times.push(performance.now() - startedAt);
  }
  return times.sort((a, b) => a - b);
}

/** The share of one core that the idle process uses. */
async function idleShare(seconds: number): Promise<number> {
  const before = process.cpuUsage();
  await sleep(seconds * 1000);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6 / seconds;
}

// Timers of the server do not keep the process running.
const alive = setInterval(() => {}, 60_000);
const folder = await mkdtemp(join(tmpdir(), "embedded-clusters-"));
const storage = await openSqliteStorage({ path: join(folder, "store.db") });
const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
await cache.ready();
const clusters = createEmbeddedClusters({
  storage,
  cache,
  runtime: systemRuntime,
  continueTokens: createContinueTokens(),
  sealedValues: createInternalValues(createFixedKeyRing(new Uint8Array(32)), systemRuntime.random),
  names: { name: "benchmark", domain: "example.com", insideRoleGroup: (role) => `benchmark:role:${role}` },
  firstBindings: [],
  servingAuthority: {
    pem: "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
  },
  version: SERVED_VERSION,
  webhooks: { addresses: createAddressRules(), userAgent: "benchmark" },
  onError: (error) => {
    throw error;
  },
});
const settled = async (index: number): Promise<void> => (await clusters.open(uidOf(index))).idle();

const manifests = Array.from({ length: definitions }, (_, index) => {
  const names = { group: "bench.example.com", kind: `Kind${index}`, plural: `kind${index}s` };
  const field = (type: string) => ({ type, description: `A field of kind ${index}.` });
  const spec = {
    type: "object",
    properties: { size: field("integer"), color: field("string"), wanted: field("boolean") },
  };
  const status = { type: "object", properties: { phase: field("string") } };
  return definitionManifest(names, definitionVersion("v1", { type: "object", properties: { spec, status } }));
});
const objectOf = (manifest: (typeof manifests)[number]): KubeObject => manifest as unknown as KubeObject;

/** Resolves when it is served. */
async function define(index: number): Promise<void> {
  const cluster = await clusters.open(uidOf(index));
  const crds = cluster.resource("apiextensions.k8s.io", "CustomResourceDefinition");
  for (const manifest of manifests) {
    await createControlled({ runtime: systemRuntime }, crds, objectOf(manifest), signal);
  }
  await cluster.idle();
  await cache.refresh();
  await cluster.idle();
}

/** Starts a stopped cluster, until one of its custom resources is found. */
async function wake(index: number): Promise<void> {
  const cluster = await clusters.open(uidOf(index));
  const { group, names } = manifests[0]?.spec ?? { group: "", names: { kind: "ConfigMap" } };
  cluster.resource(group, names.kind).view.list("");
}

// The first one compiles what all of them share.
await clusters.provision(uidOf(count), signal);
await settled(count);
await clusters.remove(uidOf(count), signal);

const empty = await residentMegabytes();
const made = await timesOf(async (index) => clusters.provision(uidOf(index), signal));
for (let index = 0; index < count; index++) await settled(index);
const defined = definitions === 0 ? [] : await timesOf(define);
const running = await residentMegabytes();
const idle = await idleShare(5);
const stored = (await storage.list("/registry/")).entries.length;
const stopped = await timesOf((index) => clusters.stop(uidOf(index)));
const atRest = await residentMegabytes();
const started = await timesOf(wake);
const removed = await timesOf((index) => clusters.remove(uidOf(index), signal));
const afterwards = await residentMegabytes();
const left = (await storage.list("/registry/")).entries.length;

const row = (what: string, times: readonly number[]): string =>
  `| ${what} | ${percentile(times, 0.5).toFixed(2)} | ${percentile(times, 0.99).toFixed(2)} |`;
process.stdout.write(
  [
    `${count} embedded clusters, ${(stored / count).toFixed(0)} objects each, store in SQLite`,
    "",
    "| ms | median | p99 |",
    "| --- | --- | --- |",
    row("make", made),
    ...(definitions === 0 ? [] : [row(`add ${definitions} definitions`, defined)]),
    row("stop", stopped),
    row("start again, to the first answer", started),
    row("remove", removed),
    "",
    "| memory per cluster | KB |",
    "| --- | --- |",
    `| running, its objects included | ${(((running - empty) / count) * 1000).toFixed(0)} |`,
    `| stopped: its objects alone | ${(((atRest - empty) / count) * 1000).toFixed(0)} |`,
    `| removed | ${(((afterwards - empty) / count) * 1000).toFixed(0)} |`,
    "",
    `all running, nobody asking: ${(idle * 100).toFixed(1)} % of one core; keys left in the store: ${left}`,
    "",
  ].join("\n"),
);
clusters[Symbol.dispose]();
await cache[Symbol.asyncDispose]();
await storage[Symbol.asyncDispose]();
await rm(folder, { recursive: true });
clearInterval(alive);

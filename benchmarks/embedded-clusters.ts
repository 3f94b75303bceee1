// What embedded virtual clusters cost: to make, to start again, in memory while they run and while they are stopped, and when nobody
// uses them.
// Usage: npx tsx --conditions=@postern/source --expose-gc benchmarks/embedded-clusters.ts [clusters]

import { performance } from "node:perf_hooks";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createEmbeddedClusters } from "@postern/platform/clusters/embedded/embedded-clusters";
import { createInternalValues } from "@postern/platform/encryption/internal-records";
import { createFixedKeyRing } from "@postern/platform/encryption/key-ring";
import { createAddressRules } from "@postern/platform/proxy/address-rules";
import { SERVED_VERSION } from "@postern/platform/served-version";

const { signal } = new AbortController();
const count = Number(process.argv[2] ?? 1000);
const uidOf = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;

function residentMegabytes(): number {
  for (let round = 0; round < 3; round++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;

/** Milliseconds that each call takes, sorted. */
async function timesOf(run: (index: number) => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now();
    await run(index);
    times.push(performance.now() - startedAt);
  }
  return times.sort((a, b) => a - b);
}

/** Share of one core that the process uses while nobody asks anything of it. */
async function idleShare(seconds: number): Promise<number> {
  const before = process.cpuUsage();
  await sleep(seconds * 1000);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6 / seconds;
}

const storage = createMemoryStorage();
const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
await cache.ready();
using clusters = createEmbeddedClusters({
  storage,
  cache,
  runtime: systemRuntime,
  continueTokens: createContinueTokens(),
  sealedValues: createInternalValues(createFixedKeyRing(new Uint8Array(32)), systemRuntime.random),
  firstBindings: [],
  servingAuthority: "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
  version: SERVED_VERSION,
  webhooks: { addresses: createAddressRules(), userAgent: "benchmark" },
  onError: (error) => {
    throw error;
  },
});
const settled = async (index: number): Promise<void> => (await clusters.open(uidOf(index))).idle();

// The first one compiles what all of them share.
await clusters.provision(uidOf(count), signal);
await settled(count);
await clusters.remove(uidOf(count), signal);

const empty = residentMegabytes();
const made = await timesOf(async (index) => clusters.provision(uidOf(index), signal));
for (let index = 0; index < count; index++) await settled(index);
const running = residentMegabytes();
const idle = await idleShare(5);
const { entries } = await storage.list("/registry/");
const stopped = await timesOf((index) => clusters.stop(uidOf(index)));
const atRest = residentMegabytes();
const started = await timesOf((index) => clusters.open(uidOf(index)));
const removed = await timesOf((index) => clusters.remove(uidOf(index), signal));
const afterwards = residentMegabytes();
const left = (await storage.list("/registry/")).entries.length;

const row = (what: string, times: readonly number[]): string =>
  `| ${what} | ${percentile(times, 0.5).toFixed(2)} | ${percentile(times, 0.99).toFixed(2)} |`;
process.stdout.write(
  [
    `${count} embedded clusters, ${(entries.length / count).toFixed(0)} objects each, store in memory`,
    "",
    "| ms | median | p99 |",
    "| --- | --- | --- |",
    row("make", made),
    row("stop", stopped),
    row("start again", started),
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
await cache[Symbol.asyncDispose]();

// How many durable writes the SQLite store takes, beside what the disk itself can do in the same run.
// Usage: npx tsx benchmarks/storage-writes.ts [folder] [seconds per measurement]

import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { Storage } from "@postern/apiserver/storage/storage";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";

type Measurement = {
  readonly work: string;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
};

const VALUE = Buffer.alloc(1_200, "x");
const ROUNDS = 3;

function measured(work: string, startedAt: number, latencies: number[]): Measurement {
  const seconds = (performance.now() - startedAt) / 1_000;
  const sorted = latencies.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { work, perSecond: latencies.length / seconds, p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** The ceiling: append a page, wait for the disk, again. */
function measureFsync(folder: string, seconds: number): Measurement {
  const file = openSync(join(folder, "fsync"), "w");
  const page = Buffer.alloc(4_096);
  const latencies: number[] = [];
  const startedAt = performance.now();
  while (performance.now() - startedAt < seconds * 1_000) {
    const before = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    latencies.push(performance.now() - before);
  }
  closeSync(file);
  return measured("fdatasync loop", startedAt, latencies);
}

async function measure(
  work: string,
  inFlight: number,
  seconds: number,
  write: (index: number) => Promise<unknown>,
): Promise<Measurement> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  let index = 0;
  const worker = async () => {
    while (performance.now() - startedAt < seconds * 1_000) {
      const before = performance.now();
      await write(index++);
      latencies.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return measured(`${work}, ${inFlight} in flight`, startedAt, latencies);
}

async function measureStore(storage: Storage, round: number, seconds: number): Promise<Measurement[]> {
  const results: Measurement[] = [];
  for (const inFlight of [1, 8, 64, 256]) {
    const key = (index: number) => `/registry/bench/core/things/${round}-${inFlight}-${(index * 7_919) % 1_000_003}`;
    results.push(await measure("create", inFlight, seconds, (index) => storage.create(key(index), VALUE)));
  }
  const revisions = new Map<string, number>();
  const update = async (index: number) => {
    const key = `/registry/bench/core/updated/${round}-${index % 10_000}`;
    const expected = revisions.get(key);
    revisions.set(
      key,
      expected === undefined ? await storage.create(key, VALUE) : await storage.update(key, VALUE, expected),
    );
  };
  results.push(await measure("update", 64, seconds, update));
  return results;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

const [parent = tmpdir(), secondsText = "2"] = process.argv.slice(2);
const seconds = Number(secondsText);
const folder = mkdtempSync(join(parent, "postern-bench-"));
try {
  await using storage = await openSqliteStorage({ path: join(folder, "store.db") });
  const rounds: Measurement[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push([measureFsync(folder, seconds / 2), ...(await measureStore(storage, round, seconds))]);
  }
  const ceiling = median(rounds.map(([fsync]) => fsync?.perSecond ?? 0));
  const rows = (rounds[0] ?? []).map(({ work }, index) => {
    const all = rounds.flatMap((round) => round[index] ?? []);
    const rates = all.map(({ perSecond }) => perSecond);
    const ms = (pick: (measurement: Measurement) => number) => median(all.map(pick)).toFixed(2);
    return {
      work,
      "per second": Math.round(median(rates)),
      "× fsync": (median(rates) / ceiling).toFixed(2),
      spread: `${Math.round(Math.min(...rates))}-${Math.round(Math.max(...rates))}`,
      "p50 ms": ms(({ p50 }) => p50),
      "p99 ms": ms(({ p99 }) => p99),
      "max ms": ms(({ max }) => max),
    };
  });
  console.table(rows);
} finally {
  rmSync(folder, { recursive: true });
}

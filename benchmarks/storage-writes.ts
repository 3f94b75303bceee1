// The rate of durable writes of the SQLite store, compared to the disk's own in the same run.
// Usage: npx tsx benchmarks/storage-writes.ts [folder] [seconds per measurement]

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Storage } from "@postern/apiserver/storage/storage";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { syncPages } from "./servers/measure-fsync.ts";
import { type Measurement, measure, measured, printRounds } from "./storage-measure.ts";

const VALUE = Buffer.alloc(1_200, "x");
const ROUNDS = 3;

/** The ceiling. */
function measureDisk(folder: string, seconds: number): Measurement {
  const { startedAt, latencies } = syncPages(join(folder, "fsync"), seconds);
  return measured("fdatasync loop", startedAt, latencies);
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
  // Everything that is replaced is compacted at once: deleting it happens all the time, and doubles the log.
  let over = false;
  const compacting = (async () => {
    while (!over) await storage.compact(await storage.currentRevision());
  })();
  results.push(await measure("update while compacting", 64, seconds, update));
  results.push(await measure("update while compacting", 1, seconds, update));
  over = true;
  await compacting;
  return results;
}

const [parent = tmpdir(), secondsText = "2"] = process.argv.slice(2);
const seconds = Number(secondsText);
const folder = mkdtempSync(join(parent, "postern-bench-"));
try {
  await using storage = await openSqliteStorage({ path: join(folder, "store.db") });
  const rounds: Measurement[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push([measureDisk(folder, seconds / 2), ...(await measureStore(storage, round, seconds))]);
  }
  printRounds(rounds);
} finally {
  rmSync(folder, { recursive: true });
}

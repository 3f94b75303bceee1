// The load time and memory of the watch cache over a SQLite store, and the cost of an event with many subscriptions.
// Usage: npx tsx --expose-gc benchmarks/watch-cache.ts [objects] [subscriptions]

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import type { Storage } from "@postern/apiserver/storage/storage";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";

const PREFIX = "/registry/management/management.postern/ownedaccesskeys/";
const IN_FLIGHT = 512;

function value(index: number): Uint8Array {
  const metadata = { name: `key-${index}`, labels: { team: `team-${index % 100}` } };
  return encodeStoredValue({
    apiVersion: "management.postern/v1",
    kind: "OwnedAccessKey",
    metadata,
    spec: { text: "x".repeat(1_050) },
  });
}

async function fill(storage: Storage, objects: number): Promise<void> {
  let index = 0;
  const writer = async () => {
    while (index < objects) {
      const mine = index++;
      await storage.create(`${PREFIX}key-${(mine * 7_919) % 1_000_003}`, value(mine));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, writer));
}

function residentMegabytes(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

const [objects, subscriptions] = [Number(process.argv[2] ?? 100_000), Number(process.argv[3] ?? 10_000)];
const folder = mkdtempSync(join(tmpdir(), "postern-bench-"));
const path = join(folder, "store.db");
try {
  const filling = await openSqliteStorage({ path });
  await fill(filling, objects);
  await filling[Symbol.asyncDispose]();

  const memoryBefore = residentMegabytes();
  const startedAt = performance.now();
  await using storage = await openSqliteStorage({ path });
  const openedAt = performance.now();
  await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const loadedAt = performance.now();
  const memory = residentMegabytes() - memoryBefore;
  const view = cache.view(PREFIX);

  const keys = view.list(PREFIX).map((object) => object.key);
  const getsFrom = performance.now();
  for (const key of keys) view.get(key);
  const gets = performance.now() - getsFrom;
  const listFrom = performance.now();
  view.list(PREFIX, { limit: 500, startAfter: keys[keys.length >> 1] ?? "" });
  const list = performance.now() - listFrom;

  let delivered = 0;
  const observer = { events: () => void delivered++, error: () => {} };
  for (let index = 0; index < subscriptions; index++) view.subscribe(PREFIX, view.revision, observer);
  const writes = 100;
  const dispatchFrom = performance.now();
  for (let index = 0; index < writes; index++) await storage.create(`${PREFIX}new-${index}`, value(index));
  const dispatch = performance.now() - dispatchFrom;

  console.table({
    objects: view.size,
    "open, ms": Math.round(openedAt - startedAt),
    "load, ms": Math.round(loadedAt - openedAt),
    "bytes per object": Math.round((memory * 1e6) / objects),
    "bytes of each value": value(1).byteLength,
    "resident, MB": Math.round(process.memoryUsage().rss / 1e6),
    "get, µs": ((gets * 1_000) / keys.length).toFixed(2),
    "list 500, ms": list.toFixed(2),
    [`write with ${subscriptions} subscriptions, ms`]: (dispatch / writes).toFixed(3),
    delivered,
  });
} finally {
  rmSync(folder, { recursive: true });
}

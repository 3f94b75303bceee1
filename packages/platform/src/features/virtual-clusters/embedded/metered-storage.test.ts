import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { expect, it } from "vitest";
import { createClusterMemory } from "../../budgets/cluster-memory.ts";
import { meteredStorage } from "./metered-storage.ts";

const value = (length: number) => new Uint8Array(length).fill(32);
const KEY = "/registry/vc-a/core/configmaps/ns/";

async function createMeter(share: { readonly objects: number; readonly bytes: number }) {
  const storage = createMemoryStorage();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const metered = meteredStorage({ storage, cache, composition: "vc-a", shareOf: () => share });
  metered.start();
  return metered.storage;
}

it("refuses one object or one byte too many, and accepts again when there is room", async () => {
  const storage = await createMeter({ objects: 3, bytes: 100 });
  await storage.create(`${KEY}a`, value(30));
  const revision = await storage.create(`${KEY}b`, value(30));
  await expect(storage.create(`${KEY}c`, value(50))).rejects.toMatchObject({
    code: 507,
    reason: "InsufficientStorage",
  });
  await storage.create(`${KEY}c`, value(10));
  await expect(storage.create(`${KEY}d`, value(1))).rejects.toThrow("it has 3 objects of 3 and 70 bytes of 100");
  await storage.delete(`${KEY}b`, revision);
  await storage.create(`${KEY}d`, value(1));
});

it("refuses creations earlier than updates, and never updates that shrink an object or begin its deletion", async () => {
  const storage = await createMeter({ objects: 10, bytes: 100 });
  const revision = await storage.create(`${KEY}a`, value(96));
  await expect(storage.create(`${KEY}b`, value(10))).rejects.toThrow("is full");
  const grown = await storage.update(`${KEY}a`, value(109), revision);
  await expect(storage.update(`${KEY}a`, value(111), grown)).rejects.toThrow("is full");
  const deletion = Buffer.from(`{"metadata":{"deletionTimestamp":"now"}}${" ".repeat(200)}`);
  const deleting = await storage.update(`${KEY}a`, deletion, grown);
  await expect(storage.update(`${KEY}a`, Buffer.concat([deletion, deletion]), deleting)).rejects.toThrow("is full");
  await storage.update(`${KEY}a`, value(200), deleting);
});

it("counts concurrent writes that memory does not show yet", async () => {
  const storage = await createMeter({ objects: 10, bytes: 1_000 });
  const writes = Array.from({ length: 20 }, (_, index) => storage.create(`${KEY}${index}`, value(10)));
  const results = await Promise.allSettled(writes);
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
});

it("gives each place once, whichever writes are in flight together", async () => {
  const [limit, seed] = [40, Number(process.env["TEST_SEED"] ?? 1)];
  const storage = await createMeter({ objects: limit, bytes: 1_000_000 });
  const random = randomNumbers(seed);
  const stored = new Map<string, number>();
  for (let wave = 0, made = 0; wave < 60; wave++) {
    const removals = [...stored].filter(() => random(4) === 0);
    await Promise.all(removals.map(([key, revision]) => storage.delete(key, revision)));
    for (const [key] of removals) stored.delete(key);
    const keys = Array.from({ length: 1 + random(30) }, () => `${KEY}${made++}`);
    const results = await Promise.allSettled(keys.map((key) => storage.create(key, value(1 + random(500)))));
    const accepted = results.flatMap((result, index) =>
      result.status === "fulfilled" ? [[keys[index] ?? "", result.value] as const] : [],
    );
    expect(accepted.length, `wave ${wave} of seed ${seed}`).toBe(Math.min(keys.length, limit - stored.size));
    for (const [key, revision] of accepted) stored.set(key, revision);
  }
}, 30_000);

const MIB = 1 << 20;

/** Clusters of projects, named such as `p1-a`. */
async function createClusters(limitBytes: number) {
  const storage = createMemoryStorage();
  const load = async () => {
    const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
    await cache.ready();
    const memory = createClusterMemory({
      usage: cache.usage,
      limitBytes,
      isCluster: (composition) => composition.startsWith("vc-"),
      projectOf: (composition) => composition.split("-")[1] ?? "",
    });
    return { cache, memory };
  };
  const loaded = await load();
  const { cache, memory } = loaded;
  let written = 0;
  const cluster = (name: string) => {
    const composition = `vc-${name}`;
    const share = { objects: 1e9, bytes: 1e12 };
    const metered = meteredStorage({ storage, cache, composition, shareOf: () => share, memory });
    metered.start();
    const create = (bytes: number) =>
      metered.storage.create(`/registry/${composition}/core/secrets/ns/${written++}`, value(bytes));
    /** Until it is refused; returns how many bytes it took. */
    const fill = async (bytes = MIB) => {
      for (let taken = 0; ; taken += bytes) {
        const error = await create(bytes).then(
          () => undefined,
          (reason: Error) => reason,
        );
        if (error !== undefined) return { taken, error };
      }
    };
    return { create, fill };
  };
  return { memory, cluster, load };
}

it("never exceeds the memory of all clusters, and refuses the largest project first", async () => {
  const { memory, cluster, load } = await createClusters(64 * MIB);
  const { taken, error } = await cluster("p1-a").fill();
  expect(error).toMatchObject({ code: 507, message: expect.stringMatching(/memory of this server.*of 64\.0 MiB/) });
  expect(taken).toBeGreaterThan(30 * MIB);
  // Another cluster of the same project has no more than its minimum, and one of another project has room.
  expect((await cluster("p1-b").fill()).taken).toBe(0);
  expect((await cluster("p2-a").fill()).taken).toBeGreaterThan(6 * MIB);
  for (let project = 3; project < 20; project++) await cluster(`p${project}-a`).fill();
  expect(memory.usedBytes).toBeLessThanOrEqual(memory.limitBytes);
  // After a restart all of it is counted again.
  const again = await load();
  expect(Math.round(again.memory.usedBytes)).toBe(Math.round(memory.usedBytes));
  expect(() => again.memory.checkNewCluster("vc-p1-z")).toThrow("is full");
});

it("gives every cluster a guaranteed minimum", async () => {
  const { cluster, memory } = await createClusters(8 * MIB);
  await cluster("p2-a").create(10);
  await cluster("p1-a").fill(1 << 16);
  await cluster("p1-b").create(1);
  await cluster("p2-a").create(100_000);
  expect(memory.usedBytes).toBeLessThanOrEqual(memory.limitBytes);
});

it("counts what clusters keep as it is shown with what they store, and leaves room to write", async () => {
  const { cluster, memory } = await createClusters(64 * MIB);
  const own = cluster("p1-a");
  await own.create(MIB);
  const room = memory.conversionMemoryOf("vc-p1-a");
  const kept: (() => void)[] = [];
  for (let back = room.take(MIB); back !== undefined; back = room.take(MIB)) kept.push(back);
  expect(kept.length).toBeGreaterThan(10);
  expect(memory.usedBytes).toBeLessThan(memory.limitBytes / 2 + 4 * MIB);
  // The cluster itself may still write, and another project's cluster has room for both.
  await own.create(MIB);
  await cluster("p2-a").create(MIB);
  expect(memory.conversionMemoryOf("vc-p2-a").take(MIB)).toBeDefined();
  for (let project = 3; project < 20; project++) {
    const other = memory.conversionMemoryOf(`vc-p${project}-a`);
    while (other.take(MIB / 4) !== undefined);
    await cluster(`p${project}-a`).fill(MIB / 4);
  }
  expect(memory.usedBytes).toBeLessThanOrEqual(memory.limitBytes);
  const before = memory.usedBytes;
  for (const back of kept) back();
  expect(before - memory.usedBytes).toBeGreaterThan(kept.length * MIB);
  expect(room.take(MIB)).toBeDefined();
});

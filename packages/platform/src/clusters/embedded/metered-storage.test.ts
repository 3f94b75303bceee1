import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it } from "vitest";
import { meteredStorage, type StorageShare } from "./metered-storage.ts";

const value = (length: number) => new Uint8Array(length);

async function createMeter(share: StorageShare) {
  const storage = createMemoryStorage();
  let counts = 0;
  const metered = meteredStorage(storage, () => share);
  const all = async () => (await storage.list("/")).entries;
  let entries = await all();
  metered.countBy(() => {
    counts++;
    return { objects: entries.length, bytes: entries.reduce((sum, entry) => sum + entry.value.length, 0) };
  });
  return {
    storage: metered.storage,
    look: async () => {
      entries = await all();
    },
    counts: () => counts,
  };
}

it("refuses one object or one byte too many, and accepts again when there is room", async () => {
  const { storage, look } = await createMeter({ objects: 3, bytes: 100 });
  await storage.create("/a", value(30));
  await look();
  const revision = await storage.create("/b", value(30));
  await look();
  await expect(storage.create("/c", value(50))).rejects.toMatchObject({ code: 507, reason: "InsufficientStorage" });
  await storage.create("/c", value(10));
  await look();
  await expect(storage.create("/d", value(1))).rejects.toThrow("it has 3 objects of 3 and 70 bytes of 100");
  await storage.delete("/b", revision);
  await look();
  await storage.create("/d", value(1));
});

it("refuses creations earlier than updates", async () => {
  const { storage, look } = await createMeter({ objects: 10, bytes: 100 });
  const revision = await storage.create("/a", value(96));
  await look();
  await expect(storage.create("/b", value(10))).rejects.toThrow("is full");
  await storage.update("/a", value(10), revision);
});

it("counts all there is only once in many writes", async () => {
  const { storage, counts } = await createMeter({ objects: 10_000, bytes: 1e9 });
  for (let index = 0; index < 400; index++) await storage.create(`/${index}`, value(5));
  expect(counts()).toBeLessThan(4);
});

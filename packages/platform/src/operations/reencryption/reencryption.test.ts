import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage } from "@postern/apiserver/storage/storage";
import { withMethods } from "@postern/apiserver/storage/testing/with-methods";
import { afterEach, describe, expect, it } from "vitest";
import type { AccessKeyRecord } from "../../features/access-keys/record/access-key-record.ts";
import { openRing, SECRET, sealedOver, textOf } from "../../foundation/encryption/testing/sealed-stores.ts";
import { findDigestKeys } from "./digest-keys.ts";
import { type ReencryptionDeps, startReencryption } from "./reencryption.ts";

const SETTLE_MS = 600_000;
const PREFIX = "/registry/management/keys/records/";

type Digests = Pick<AccessKeyRecord, "name" | "id" | "ringKey" | "retired">;

const teardown: Disposable[] = [];
afterEach(() => {
  for (const one of teardown.splice(0)) one[Symbol.dispose]();
});

/** Re-encryption of a store in which no access key has anything but a digest. */
async function setUp({ settleMs = 0, storage: disk = createMemoryStorage() as Storage } = {}) {
  const time = manualTime();
  time.advance(3_600_000);
  const ring = await openRing(disk, { clock: time.clock });
  const records: Digests[] = [];
  const errors: unknown[] = [];
  const cache = createWatchCache({ storage: disk, prefix: PREFIX, scheduler: time.scheduler });
  await cache.ready();
  const begin = (storage: Storage = disk) =>
    teardown.push(
      startReencryption({
        storage,
        ring,
        runtime: { ...time, random: systemRuntime.random },
        // Nothing else of a record is looked at, and none has a secret.
        keys: {
          index: { all: () => records as Iterable<AccessKeyRecord> },
          records: { view: cache.view(PREFIX), prefix: PREFIX },
        } as ReencryptionDeps["keys"],
        settleMs,
        onError: (error) => void errors.push(error),
      }),
    );
  const pass = async (milliseconds: number): Promise<void> => {
    for (let passed = 0; passed < milliseconds; passed += 1_000) {
      time.advance(1_000);
      // Work of one moment takes a few steps of the store.
      for (let step = 0; step < 5; step++) await new Promise<void>((resolve) => setImmediate(resolve));
    }
  };
  return { disk, ring, records, errors, begin, pass, time, ...sealedOver(disk, ring) };
}

describe("a key of the ring that was replaced", () => {
  it("goes once other servers have had their time to take up the new one, and everything is under that", async () => {
    const { ring, storage, begin, pass, unreadable, errors } = await setUp({ settleMs: SETTLE_MS });
    await storage.create(SECRET, Buffer.from("text"));
    begin();
    await pass(5_000);
    await ring.rotate();
    await pass(SETTLE_MS - 1_000);
    expect(ring.keys).toHaveLength(2);
    await pass(30_000);
    expect(ring.keys).toHaveLength(1);
    expect(textOf((await storage.get(SECRET))?.value)).toBe("text");
    expect([unreadable, errors]).toEqual([[], []]);
  });

  it.each<[string, string]>([
    ["where the pass has been already", "/registry/a/core/secrets/ns/late"],
    ["where the pass wants to write at the same moment", SECRET],
  ])("stays while another server writes under it: %s", async (_, place) => {
    const disk = createMemoryStorage();
    const theirs = await openRing(disk);
    const { storage: other } = sealedOver(disk, theirs);
    const { ring, storage, begin, pass, unreadable } = await setUp({ storage: disk });
    await storage.create(SECRET, Buffer.from("text"));
    await ring.rotate();
    let isLate = true;
    begin(
      withMethods(disk, {
        async update(key, value, expected) {
          if (isLate && key === SECRET) {
            isLate = false;
            if (place === key) await other.update(key, Buffer.from("late"), expected);
            else await other.create(place, Buffer.from("late"));
          }
          return await disk.update(key, value, expected);
        },
      }),
    );
    await pass(60_000);
    expect(ring.keys).toHaveLength(1);
    expect(textOf((await storage.get(place))?.value)).toBe("late");
    expect(unreadable).toEqual([]);
  });

  it("stays for as long as the digest of an access key is under it", async () => {
    const { ring, records, begin, pass } = await setUp();
    const [{ id }] = ring.keys;
    records.push({ name: "ci", id: "k1", ringKey: id, retired: [] });
    await ring.rotate();
    begin();
    await pass(60_000);
    expect(ring.keys.map((key) => key.id)).toContain(id);
    records.splice(0);
    await pass(30_000);
    expect(ring.keys).toHaveLength(1);
  });
});

it("counts the digests under each key: those that name none, and replaced values while they are accepted", async () => {
  const { ring, time } = await setUp();
  const [{ id: first }] = ring.keys;
  await ring.rotate();
  const [{ id: second }] = ring.keys;
  const now = time.clock.now();
  const value = (ringKey: string, until: number) => ({
    id: "v",
    digest: "d",
    structured: true,
    nonce: "n",
    ringKey,
    until,
  });
  const records = [
    { name: "old", id: "k1", ringKey: undefined, retired: [] },
    { name: "none", id: "", ringKey: undefined, retired: [] },
    { name: "rotated", id: "k2", ringKey: second, retired: [value(first, now + 1), value(first, now)] },
  ];
  const holders = findDigestKeys(ring, records as unknown as Iterable<AccessKeyRecord>, now);
  expect(Object.fromEntries(holders)).toEqual({
    [first]: { count: 2, examples: ["old", "rotated"] },
    [second]: { count: 1, examples: ["rotated"] },
  });
});

import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { StoredEntry } from "@postern/apiserver/storage/storage";
import { withMethods } from "@postern/apiserver/storage/testing/with-methods";
import { expect, it } from "vitest";
import { deriveRingKey } from "./key-ring.ts";
import { decodeKeyRing, KEY_RING_KEY, KeyRingError } from "./key-ring-record.ts";
import { CONFIRMED_MS } from "./stored-key-ring.ts";
import { OTHER_KEY, openRing, SERVER_KEY, textOf } from "./testing/sealed-stores.ts";

async function setUp() {
  const storage = createMemoryStorage();
  const ring = await openRing(storage);
  const record = async () => (await storage.get(KEY_RING_KEY)) as StoredEntry;
  return { storage, ring, record };
}

it("a ring ignores an earlier state that arrives late", async () => {
  const { ring, record } = await setUp();
  const before = await record();
  await ring.rotate();
  const { keys } = ring;
  ring.load(before);
  expect(ring.keys).toBe(keys);
});

it("a rotated ring has another encryption key: an old copy and its server key decrypt nothing new", async () => {
  const { ring, record } = await setUp();
  const before = decodeKeyRing((await record()).value, [SERVER_KEY]);
  await ring.rotate();
  const after = decodeKeyRing((await record()).value, [SERVER_KEY]);
  expect(Buffer.from(after.sealingKey).equals(before.sealingKey)).toBe(false);
});

it("a ring has sixteen keys at most", async () => {
  const { ring } = await setUp();
  for (let count = 1; count < 16; count++) await ring.rotate();
  await expect(ring.rotate()).rejects.toBeInstanceOf(KeyRingError);
  expect(ring.keys).toHaveLength(16);
});

it("a ring keeps its keys while its record cannot be read, and takes the next one that can", async () => {
  const { ring, record } = await setUp();
  const { keys } = ring;
  const entry = await record();
  ring.load({ ...entry, revision: entry.revision + 1, value: Buffer.from("{}") });
  expect(ring.fault).toBeInstanceOf(KeyRingError);
  expect(ring.keys).toBe(keys);
  ring.load({ ...entry, revision: entry.revision + 2 });
  expect(ring.fault).toBeUndefined();
});

it("a ring that a newer release wrote is left alone", async () => {
  const { storage, record } = await setUp();
  const { value, revision } = await record();
  await storage.update(KEY_RING_KEY, Buffer.from(textOf(value).replace('"version":1', '"version":2')), revision);
  await expect(openRing(storage)).rejects.toThrow(/newer release/);
});

it("listeners hear of every change of a ring, also by other servers, until they are disposed", async () => {
  const { ring, storage } = await setUp();
  let changes = 0;
  const listening = ring.onChange(() => changes++);
  await (await openRing(storage)).rotate();
  await ring.refresh();
  await ring.rotate();
  await ring.refresh();
  expect(changes).toBe(2);
  listening[Symbol.dispose]();
  await ring.rotate();
  expect(changes).toBe(2);
});

it("the ring of a store from before rings begins with the oldest server key that is given", async () => {
  const older = createMemoryStorage();
  await older.create("/platform/first-start", Buffer.from("then"));
  const { keys } = await openRing(older, { serverSecrets: [OTHER_KEY, SERVER_KEY] });
  const derived = deriveRingKey({ secret: SERVER_KEY, createdAt: 0, isFirst: true });
  expect(keys.map(({ id, isFirst }) => [id, isFirst])).toEqual([[derived.id, true]]);
});

it.each([
  ["once its time is over, counted from the question, where others may rotate it", true, [0, 0, 1]],
  ["never without another server on the store", false, [0, 0, 0]],
])("a ring is read again before something is sealed: %s", async (_, isShared, expected) => {
  const inner = createMemoryStorage();
  const time = manualTime();
  let reads = 0;
  const storage = withMethods(inner, {
    get(key) {
      reads++;
      // The answer takes a while.
      time.advance(CONFIRMED_MS / 2);
      return inner.get(key);
    },
  });
  const ring = await openRing(storage, { isShared, clock: time.clock });
  const readsOf = async () => {
    reads = 0;
    await ring.confirm();
    return reads;
  };
  const found = [await readsOf()];
  time.advance(CONFIRMED_MS / 2 - 1);
  found.push(await readsOf());
  time.advance(1);
  found.push(await readsOf());
  expect(found).toEqual(expected);
});

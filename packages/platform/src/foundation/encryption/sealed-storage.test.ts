import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage, StorageEvent } from "@postern/apiserver/storage/storage";
import { KeyExistsError, StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import { withMethods } from "@postern/apiserver/storage/testing/with-methods";
import { beforeEach, describe, expect, it } from "vitest";
import { openRing, SECRET, sealedOver, textOf } from "./testing/sealed-stores.ts";

const MANY = "/registry/management/core/secrets/";

let disk: Storage;
beforeEach(() => {
  disk = createMemoryStorage();
});

/** Another server, which has rotated the ring without the knowledge of ours. */
async function rotatedElsewhere() {
  const theirs = await openRing(disk);
  await theirs.rotate();
  return { theirs, other: sealedOver(disk, theirs).storage };
}

/** A sealed store whose disk stops responding once it is taken down; others still see its content. */
async function sealedOverBreakable() {
  let isDown = false;
  const breakable = withMethods(disk, {
    get: (key) => (isDown ? Promise.reject(new StorageUnavailableError("down")) : disk.get(key)),
  });
  const { storage } = sealedOver(breakable, await openRing(breakable));
  return {
    storage,
    takeDown() {
      isDown = true;
    },
  };
}

/** Events of a watch: the texts of values, those of replaced ones behind a slash. */
function follow(storage: Storage, prefix: string, from: number) {
  const seen: string[] = [];
  const ended: Error[] = [];
  storage.watch(prefix, from, {
    events(events: readonly StorageEvent[]) {
      for (const event of events) {
        const now = event.type === "put" ? textOf(event.entry.value) : "deleted";
        seen.push(event.previous === undefined ? now : `${now}/${textOf(event.previous.value)}`);
      }
    },
    error: (error) => void ended.push(error),
  });
  return { seen, ended };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("a value under a key that came meanwhile", () => {
  it.each<[string, (storage: Storage) => Promise<string>]>([
    ["read", async (storage) => textOf((await storage.get(SECRET))?.value)],
    ["listed", async (storage) => textOf((await storage.list(MANY)).entries[0]?.value)],
    [
      "in the way of another one",
      async (storage) => {
        const error: unknown = await storage.create(SECRET, Buffer.from("new")).catch((reason: unknown) => reason);
        return error instanceof KeyExistsError ? textOf(error.current?.value) : "";
      },
    ],
  ])("is decrypted when it is %s", async (_, textBy) => {
    const { storage, unreadable } = sealedOver(disk, await openRing(disk));
    const { other } = await rotatedElsewhere();
    await other.create(SECRET, Buffer.from("text"));
    expect(await textBy(storage)).toBe("text");
    expect(unreadable).toEqual([]);
  });

  it("is reported in order, however long the keys take to arrive", async () => {
    const waiting: (() => void)[] = [];
    let isSlow = false;
    const slow = withMethods(disk, {
      async get(key) {
        const entry = await disk.get(key);
        if (isSlow) await new Promise<void>((resolve) => void waiting.push(resolve));
        return entry;
      },
    });
    const ours = await openRing(slow);
    isSlow = true;
    const { storage } = sealedOver(slow, ours);
    // Does not reach the ring's own place.
    const { seen } = follow(storage, "/registry/management/core/", await disk.currentRevision());
    const { theirs, other } = await rotatedElsewhere();
    await other.create(`${SECRET}-1`, Buffer.from("1"));
    await turn();
    // Ours is asking for the key of the first one, and does not know of this one.
    await theirs.rotate();
    await other.create(`${SECRET}-2`, Buffer.from("2"));
    await disk.create("/registry/management/core/configmaps/p-a/x", Buffer.from("3"));
    for (let round = 0; round < 2; round++) {
      await turn();
      for (const resolve of waiting.splice(0)) resolve();
    }
    await turn();
    expect(seen).toEqual(["1", "2", "3"]);
  });

  it("ends the watch where the ring cannot be read", async () => {
    const { storage, takeDown } = await sealedOverBreakable();
    takeDown();
    const { seen, ended } = follow(storage, MANY, await disk.currentRevision());
    const { other } = await rotatedElsewhere();
    await other.create(SECRET, Buffer.from("text"));
    await turn();
    expect([seen, ended]).toEqual([[], [expect.any(StorageUnavailableError)]]);
  });

  it("is decrypted without a read once the ring was announced", async () => {
    const { storage, takeDown } = await sealedOverBreakable();
    takeDown();
    const { seen, ended } = follow(storage, "/registry/", await disk.currentRevision());
    const { other } = await rotatedElsewhere();
    await other.create(SECRET, Buffer.from("text"));
    await turn();
    expect([seen.at(-1), ended]).toEqual(["text", []]);
  });
});

it("decrypts the previous value of an event, and accepts that its key is gone", async () => {
  const ring = await openRing(disk);
  const { storage, unreadable } = sealedOver(disk, ring);
  const from = await disk.currentRevision();
  const first = await storage.create(SECRET, Buffer.from("1"));
  const second = await storage.update(SECRET, Buffer.from("2"), first);
  await storage.delete(SECRET, second);
  const { seen } = follow(storage, MANY, from);
  await turn();
  expect(seen).toEqual(["1", "2/1", "deleted/2"]);

  const before = await storage.create(SECRET, Buffer.from("3"));
  await ring.rotate();
  await ring.retire(ring.keys.slice(1).map(({ id }) => id));
  await storage.update(SECRET, Buffer.from("4"), before);
  await turn();
  expect(seen.at(-1)).toMatch(/^4\/its key [0-9a-f]{8} is not on the key ring$/);
  expect(unreadable).toEqual([]);
});

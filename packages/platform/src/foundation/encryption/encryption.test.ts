import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage, StorageEvent } from "@postern/apiserver/storage/storage";
import { RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import { withMethods } from "@postern/apiserver/storage/testing/with-methods";
import { describe, expect, it } from "vitest";
import { reencryptStore } from "../../operations/reencryption/reencrypt-store.ts";
import { createInternalRecords, createInternalValues } from "./internal-records.ts";
import { deriveRingKey } from "./key-ring.ts";
import { KEY_RING_KEY, KeyRingError } from "./key-ring-record.ts";
import { sealedUnder } from "./sealed-entry.ts";
import { createSealedStorage } from "./sealed-storage.ts";
import { CONFIRMED_MS, openKeyRing, type StoredKeyRing } from "./stored-key-ring.ts";
import { OTHER_KEY, openRing, SECRET, SERVER_KEY, sealedOver, textOf } from "./testing/sealed-stores.ts";

const { random } = systemRuntime;
const TEXT = '{"metadata":{},"data":"canary"}';
const { signal } = new AbortController();

const open = (storage: Storage, serverSecrets: [Uint8Array, ...Uint8Array[]] = [SERVER_KEY]) =>
  openRing(storage, { serverSecrets });

const pass = (storage: Storage, ring: StoredKeyRing) =>
  reencryptStore({ storage, ring, random, signal, pause: async () => {}, onStep: () => {} });

describe("the key ring", () => {
  it("of an empty store has its own key, that of an older store the server key", async () => {
    const fresh = await open(createMemoryStorage());
    const derived = deriveRingKey({ secret: SERVER_KEY, createdAt: 0, isFirst: true });
    expect(fresh.keys.map(({ id }) => id)).not.toContain(derived.id);
    const older = createMemoryStorage();
    await older.create("/platform/first-start", Buffer.from("then"));
    expect((await open(older)).keys.map(({ id }) => id)).toEqual([derived.id]);
  });

  it("is the same for every server on the store, also where two make it at the same time", async () => {
    const storage = createMemoryStorage();
    const rings = await Promise.all([open(storage), open(storage)]);
    expect(new Set(rings.map(({ keys }) => keys[0].id)).size).toBe(1);
  });

  it("decrypts only with its server key, and reports which one that is", async () => {
    const storage = createMemoryStorage();
    const { serverKeys } = await open(storage);
    await expect(open(storage, [OTHER_KEY])).rejects.toThrow(new RegExp(`encrypted with server key ${serverKeys[0]}`));
    await expect(open(storage, [OTHER_KEY])).rejects.toBeInstanceOf(KeyRingError);
  });

  it("moves to another server key: both decrypt it until the next rotation, then only the new one", async () => {
    const storage = createMemoryStorage();
    const before = await open(storage);
    const after = await open(storage, [OTHER_KEY, SERVER_KEY]);
    expect(after.keys).toEqual(before.keys);
    expect((await open(storage, [SERVER_KEY])).serverKeys).toHaveLength(2);
    await after.rotate();
    expect((await open(storage, [OTHER_KEY])).keys).toHaveLength(2);
    await expect(open(storage, [SERVER_KEY])).rejects.toBeInstanceOf(KeyRingError);
    // A server that still has the old one keeps what it knows, and says so.
    await expect(before.refresh()).rejects.toBeInstanceOf(KeyRingError);
    expect(before.fault).toBeInstanceOf(KeyRingError);
    expect(before.keys).toHaveLength(1);
  });

  it("is refused wherever a bit of its record is another, and shows nothing of its keys", async () => {
    const storage = createMemoryStorage();
    const ring = await open(storage);
    const entry = await storage.get(KEY_RING_KEY);
    const value = Buffer.from(entry?.value ?? []);
    for (const key of [ring.keys[0].values, ring.keys[0].accessKeys, SERVER_KEY]) {
      expect(value.includes(Buffer.from(key).toString("base64url"))).toBe(false);
    }
    const content = value.indexOf('"content":"') + 11;
    let revision = entry?.revision ?? 0;
    for (const at of [content, content + 40, value.indexOf('"wrapped":"') + 20]) {
      const changed = Buffer.from(value);
      changed[at] = (changed[at] ?? 0) === 65 ? 66 : 65;
      revision = await storage.update(KEY_RING_KEY, changed, revision);
      await expect(open(storage), `byte ${at}`).rejects.toThrow(/damaged or was tampered/);
    }
  });

  it("gives one of two that rotate at the same time a conflict", async () => {
    const storage = createMemoryStorage();
    const [first, second] = [await open(storage), await open(storage)];
    const outcomes = await Promise.allSettled([first.rotate(), second.rotate()]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(outcomes.find((outcome) => outcome.status === "rejected")?.reason).toBeInstanceOf(RevisionConflictError);
    expect((await open(storage)).keys).toHaveLength(2);
  });
});

describe("servers that share a ring", () => {
  it("look at it again before they seal anything, also where the time of day was set back", async () => {
    const disk = createMemoryStorage();
    const theirs = await open(disk);
    const time = { now: 1e12, elapsed: 0 };
    const clock = { now: () => time.now, elapsed: () => time.elapsed };
    const ours = await openKeyRing({
      storage: disk,
      serverSecrets: [SERVER_KEY],
      isShared: true,
      clock,
      random,
      onError: () => {},
    });
    await theirs.rotate();
    time.now -= 5 * 3_600_000;
    time.elapsed += CONFIRMED_MS;
    await sealedOver(disk, ours).storage.create(SECRET, Buffer.from(TEXT));
    expect(sealedUnder((await disk.get(SECRET))?.value ?? new Uint8Array())).toBe(theirs.keys[0].id);
  });
});

describe("the sealed store", () => {
  it("stores Secrets encrypted, and everything else in plain text", async () => {
    const disk = createMemoryStorage();
    const { storage } = sealedOver(disk, await open(disk));
    await storage.create(SECRET, Buffer.from(TEXT));
    await storage.create("/registry/management/core/configmaps/p-a/x", Buffer.from(TEXT));
    expect(textOf((await disk.get(SECRET))?.value)).not.toContain("canary");
    expect(textOf((await disk.get("/registry/management/core/configmaps/p-a/x"))?.value)).toBe(TEXT);
    expect(textOf((await storage.get(SECRET))?.value)).toBe(TEXT);
    const { entries } = await storage.list("/registry/management/core/secrets/");
    expect(entries.map(({ value }) => textOf(value))).toEqual([TEXT]);
    const conflict = await storage.update(SECRET, Buffer.from("x"), 1).catch((error: unknown) => error);
    expect(conflict).toBeInstanceOf(RevisionConflictError);
    expect(textOf((conflict as RevisionConflictError).current?.value)).toBe(TEXT);
  });

  it("replaces a changed or moved value by a placeholder, and continues with the others", async () => {
    const disk = createMemoryStorage();
    const ring = await open(disk);
    const { storage, unreadable } = sealedOver(disk, ring);
    await storage.create(SECRET, Buffer.from(TEXT));
    const value = Buffer.from((await disk.get(SECRET))?.value ?? []);
    await disk.create(`${SECRET}-moved`, value);
    for (let at = 0; at < value.length; at++) {
      const changed = Buffer.from(value);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await disk.create(`${SECRET}-${at}`, changed);
    }
    const { entries } = await storage.list(SECRET);
    expect(entries.length).toBe(value.length + 2);
    // Where its head is damaged it is no sealed value, and is given as it is; nothing of it is readable.
    expect(entries.filter((entry) => textOf(entry.value).includes("canary")).map(({ key }) => key)).toEqual([SECRET]);
    expect(unreadable).toContain(`${SECRET}-moved`);
    expect(unreadable).toContain(`${SECRET}-${value.length - 1}`);
    const moved = await storage.get(`${SECRET}-moved`);
    expect(textOf(moved?.value)).toMatch(/moved here/);
    await storage.delete(`${SECRET}-moved`, moved?.revision ?? 0);
  });

  it("learns of a new key before it fails: in reads, and in the middle of a watch, in order", async () => {
    const disk = createMemoryStorage();
    const ours = await open(disk);
    const theirs = await open(disk);
    const { storage, unreadable } = sealedOver(disk, ours);
    // Does not cover the prefix of the ring, so that it does not learn of the new key.
    const seen: string[] = [];
    let resolve = () => {};
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    using _ = storage.watch("/registry/management/core/", await disk.currentRevision(), {
      events(events: readonly StorageEvent[]) {
        for (const event of events) if (event.type === "put") seen.push(textOf(event.entry.value));
        if (seen.length === 3) resolve();
      },
      error: (error) => expect.fail(String(error)),
    });
    await theirs.rotate();
    const other = sealedOver(disk, theirs).storage;
    for (const text of ["1", "2"]) await other.create(`${SECRET}-${text}`, Buffer.from(text));
    await disk.create("/registry/management/core/configmaps/p-a/x", Buffer.from("3"));
    await promise;
    expect(seen).toEqual(["1", "2", "3"]);
    expect(ours.keys).toEqual(theirs.keys);
    await theirs.rotate();
    await other.create(`${SECRET}-late`, Buffer.from("late"));
    expect(textOf((await storage.get(`${SECRET}-late`))?.value)).toBe("late");
    expect(unreadable).toEqual([]);
  });

  it("announces a new key to watches before objects encrypted with it, without a read", async () => {
    const disk = createMemoryStorage();
    const ours = await open(disk);
    const theirs = await open(disk);
    const storage = createSealedStorage({
      storage: withMethods(disk, { get: () => Promise.reject(new Error("not asked")) }),
      ring: ours,
      random,
      placeholder: () => Buffer.from("?"),
      onUnreadable: () => {},
    });
    const seen: string[] = [];
    using _ = storage.watch("/registry/", await disk.currentRevision(), {
      events(events: readonly StorageEvent[]) {
        for (const event of events) if (event.type === "put") seen.push(textOf(event.entry.value));
      },
      error: (error) => expect.fail(String(error)),
    });
    await theirs.rotate();
    await sealedOver(disk, theirs).storage.create(SECRET, Buffer.from("new"));
    expect(seen.at(-1)).toBe("new");
  });
});

describe("a pass of re-encryption", () => {
  it("brings Secrets and internal records of all compositions under the primary key, and plain ones too", async () => {
    const disk = createMemoryStorage();
    const ring = await open(disk);
    const { storage } = sealedOver(disk, ring);
    const keys = Array.from({ length: 150 }, (_, at) => `/registry/vc-1/core/secrets/default/s${at}`);
    for (const key of keys) await storage.create(key, Buffer.from(TEXT));
    await disk.create(SECRET, Buffer.from(TEXT));
    const records = createInternalRecords({ storage, sealedValues: createInternalValues(ring, random) }, "vc-2");
    await records.create("certificate-authority", { privateKey: "canary" });
    await ring.rotate();
    expect(await pass(disk, ring)).toEqual({ seen: 152, rewritten: 152, left: 0, unreadable: 0 });
    expect(await pass(disk, ring)).toEqual({ seen: 152, rewritten: 0, left: 0, unreadable: 0 });
    for (const key of [...keys, SECRET]) {
      const entry = await disk.get(key);
      expect(sealedUnder(entry?.value ?? new Uint8Array())).toBe(ring.keys[0].id);
    }
    await ring.retire(ring.keys.slice(1).map(({ id }) => id));
    expect(ring.keys).toHaveLength(1);
    expect(textOf((await storage.get(SECRET))?.value)).toBe(TEXT);
    expect(await records.read("certificate-authority")).toEqual({ privateKey: "canary" });
  });

  it("skips entries that are written concurrently or cannot be decrypted", async () => {
    const disk = createMemoryStorage();
    const ring = await open(disk);
    const { storage } = sealedOver(disk, ring);
    await storage.create(SECRET, Buffer.from(TEXT));
    await disk.create(`${SECRET}-moved`, (await disk.get(SECRET))?.value ?? new Uint8Array());
    await ring.rotate();
    const racing = withMethods(disk, {
      update: async (key: string, value: Uint8Array, expected: number) => {
        const current = await storage.get(key);
        await storage.update(key, Buffer.from("theirs"), current?.revision ?? 0);
        return await disk.update(key, value, expected);
      },
    });
    expect(await pass(racing, ring)).toEqual({ seen: 2, rewritten: 0, left: 1, unreadable: 1 });
    expect(textOf((await storage.get(SECRET))?.value)).toBe("theirs");
  });
});

import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage } from "@postern/apiserver/storage/storage";
import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import { describe, expect, it } from "vitest";
import { createKeyUses, usesRefusal } from "./key-uses.ts";

const PREFIX = "/registry/management/internal/keys/";
const keyNamed = (name: string) => ({ name, uid: `uid-of-${name}` });

async function openServer(storage: Storage) {
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  return createKeyUses({ view: cache.view(PREFIX), prefix: PREFIX }, { cache, storage });
}

async function storeWith(...keys: readonly (readonly [name: string, spec: { maxUses?: number }])[]) {
  const storage = createMemoryStorage();
  for (const [name, spec] of keys) {
    const object = { apiVersion: "v1", kind: "OwnedAccessKey", metadata: keyNamed(name), spec };
    await storage.create(PREFIX + name, encodeStoredValue(object, { serial: 3 }));
  }
  return storage;
}

async function stored(storage: Storage, name: string): Promise<any> {
  const entry = await storage.get(PREFIX + name);
  if (entry === undefined) throw new Error("gone");
  const object = CachedObject.fromEntry(entry);
  return { uses: (object.decode()["status"] as any)?.uses, sealed: object.decodeSealed() };
}

const reasons = (taken: readonly ({ readonly reason: string } | undefined)[]) =>
  taken.map((refusal) => refusal?.reason);

describe("the uses of a key", () => {
  it("are counted once each, with the first come served, and leave the sealed part as it is", async () => {
    const storage = await storeWith(["k", { maxUses: 3 }]);
    const uses = await openServer(storage);
    const taken = await Promise.all(Array.from({ length: 5 }, () => uses.take(keyNamed("k"))));
    expect(reasons(taken)).toEqual([undefined, undefined, undefined, "UsesExhausted", "UsesExhausted"]);
    expect(await stored(storage, "k")).toEqual({ uses: 3, sealed: { serial: 3 } });
    const { revision } = (await storage.get(`${PREFIX}k`)) ?? {};
    await uses.take(keyNamed("k"));
    // A key that is used up costs no write.
    expect((await storage.get(`${PREFIX}k`))?.revision).toBe(revision);
  });

  it("are exact in sum where servers write at the same time", async () => {
    const storage = await storeWith(["k", { maxUses: 50 }], ["l", { maxUses: 7 }]);
    const servers = await Promise.all([openServer(storage), openServer(storage), openServer(storage)]);
    const take = (name: string) => async () => await Promise.all(servers.map((server) => server.take(keyNamed(name))));
    const all = (name: string) => Promise.all(Array.from({ length: 30 }, take(name))).then((rounds) => rounds.flat());
    const [k, l] = await Promise.all([all("k"), all("l")]);
    expect([k, l].map((taken) => taken.filter((refusal) => refusal === undefined).length)).toEqual([50, 7]);
    expect([(await stored(storage, "k")).uses, (await stored(storage, "l")).uses]).toEqual([50, 7]);
  });

  it("are counted for very many keys at once", async () => {
    const names = Array.from({ length: 60 }, (_, at) => `k${at}`);
    const storage = await storeWith(...names.map((name) => [name, { maxUses: 1 }] as const));
    const uses = await openServer(storage);
    const taken = await Promise.all([...names, ...names].map((name) => uses.take(keyNamed(name))));
    expect(taken.filter((refusal) => refusal === undefined)).toHaveLength(60);
  });

  it("are none of another key of the name, of a deleted one, or of one without a limit", async () => {
    const storage = await storeWith(["k", { maxUses: 1 }], ["free", {}]);
    const uses = await openServer(storage);
    const taken = await Promise.all([
      uses.take({ name: "k", uid: "an-earlier-one" }),
      uses.take(keyNamed("gone")),
      uses.take(keyNamed("free")),
    ]);
    expect(reasons(taken)).toEqual(["Unknown", "Unknown", undefined]);
    expect((await stored(storage, "free")).uses).toBeUndefined();
  });

  it("are refused where they cannot be written, and are there again afterwards", async () => {
    const storage = await storeWith(["k", { maxUses: 1 }]);
    const uses = await openServer(storage);
    const { update } = storage;
    storage.update = () => Promise.reject(new StorageUnavailableError("disk full"));
    const taken = await Promise.allSettled([uses.take(keyNamed("k")), uses.take(keyNamed("k"))]);
    expect(taken.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    storage.update = update;
    expect(reasons([await uses.take(keyNamed("k")), await uses.take(keyNamed("k"))])).toEqual([
      undefined,
      "UsesExhausted",
    ]);
  });
});

describe("the refusal of a used key", () => {
  it.each([
    [undefined, 5, undefined],
    [3, 2, undefined],
    [3, 3, "UsesExhausted"],
    [3, 4, "UsesExhausted"],
  ])("with maxUses %j after %i uses is %j", (maxUses, uses, reason) => {
    expect(usesRefusal({ maxUses, uses })?.reason).toBe(reason);
  });
});

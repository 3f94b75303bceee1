import { encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage } from "@postern/apiserver/storage/storage";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { createFixedKeyRing, deriveRingKey, type KeyRing } from "../../../foundation/encryption/key-ring.ts";
import { followAccounts } from "../../../foundation/store/record-accounts.ts";
import { writeSealedAccessKey } from "../record/sealed-access-key.ts";
import { createAccessKeySecrets } from "../secrets/access-key-secrets.ts";
import { accountOfClaim, type Claimant, createValueClaims, PENDING_MS, type ValueClaims } from "./unique-values.ts";

const DAY = 86_400_000;
const SECRET = Buffer.alloc(32, 3);

const claimant = (name: string, owner: string, ownerUid = `${owner}-uid`): Claimant => ({
  uid: `${name}-uid`,
  name,
  owner: { kind: "user", name: owner, uid: ownerUid },
});

let storage: Storage;
let time: ReturnType<typeof manualTime>;
let claims: ValueClaims;
let value: string;

const make = (keyRing: KeyRing, on: Storage = storage) => {
  const secrets = createAccessKeySecrets({ platformName: "postern", keyRing, random: systemRuntime.random });
  const options = { prefix: "/values/", keyPrefix: "/keys/", storage: on, secrets, rememberMs: 30 * DAY };
  return { secrets, claims: createValueClaims({ ...options, clock: time.clock }) };
};

/** Writes the key with the value, as the registry does after the value was taken. */
async function writeKey({ name, uid }: Claimant, secret: string): Promise<void> {
  const key = { ...make(createFixedKeyRing(SECRET)).secrets.keep(secret, () => false) };
  const sealed = { ...(writeSealedAccessKey({ ...EMPTY, key }) ?? {}) };
  const object = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name, uid } };
  await storage.create(`/keys/${name}`, encodeStoredValue(object, sealed));
}

async function remove(key: string): Promise<void> {
  const entry = await storage.get(key);
  await storage.delete(key, entry?.revision ?? 0);
}

const EMPTY = {
  key: undefined,
  retired: [],
  lockedAt: undefined,
  serial: 0,
  leak: undefined,
  inertBelow: 0,
  childrenFrom: 0,
  childrenRevokedAt: undefined,
  origins: [],
  valueOrigins: [],
  owner: undefined,
  parents: [],
  defaultTTL: undefined,
  secrets: {},
  grant: undefined,
};

beforeEach(() => {
  storage = createMemoryStorage();
  time = manualTime();
  ({ claims } = make(createFixedKeyRing(SECRET)));
  value = make(createFixedKeyRing(SECRET)).secrets.generate();
});

describe("a value that a client chose", () => {
  it("belongs to one key, despite concurrent requests (security book 18)", async () => {
    const users = Array.from({ length: 20 }, (_, at) => claimant(`key-${at}`, `user-${at}`));
    const taken = await Promise.all(users.map((user) => claims.take(value, user)));
    expect(taken.filter((one) => one !== undefined)).toHaveLength(1);
  });

  it("is reserved for its owner after the key is deleted, until it is forgotten (security book 11)", async () => {
    const [jane, eve] = [claimant("janes", "jane"), claimant("eves", "eve")];
    await (await claims.take(value, jane))?.keep();
    await writeKey(jane, value);
    expect(await claims.isTaken(value, eve)).toBe(true);
    // Another key of her own would have it twice.
    expect(await claims.isTaken(value, claimant("second", "jane"))).toBe(true);
    await remove("/keys/janes");
    time.advance(29 * DAY);
    expect(await claims.isTaken(value, eve)).toBe(true);
    expect(await claims.isTaken(value, claimant("again", "jane", "another-jane"))).toBe(true);
    expect(await claims.isTaken(value, claimant("again", "jane"))).toBe(false);
    expect(await claims.take(value, eve)).toBeUndefined();
    expect(await claims.take(value, claimant("again", "jane"))).toBeDefined();
  });

  it("is free again where the key was not written, at once where that is known", async () => {
    const [jane, eve] = [claimant("janes", "jane"), claimant("eves", "eve")];
    await (await claims.take(value, jane))?.release();
    expect(await claims.isTaken(value, eve)).toBe(false);
    const again = claimant("janes-again", "jane");
    await claims.take(value, jane);
    // The server died in between: the request may still be on its way.
    expect(await claims.take(value, again)).toBeUndefined();
    time.advance(PENDING_MS);
    expect(await claims.take(value, again)).toBeDefined();
    expect(await claims.take(value, eve)).toBeUndefined();
  });

  it("is read equally often for a taken, a former and an unused value (security book 25, 42)", async () => {
    const gets: string[] = [];
    const get = (key: string) => {
      gets.push(key);
      return storage.get(key);
    };
    const counting = { ...bind(storage), get };
    const { claims: counted } = make(createFixedKeyRing(SECRET), counting as Storage);
    const [jane, eve] = [claimant("janes", "jane"), claimant("eves", "eve")];
    await (await claims.take(value, jane))?.keep();
    await writeKey(jane, value);
    const free = make(createFixedKeyRing(SECRET)).secrets.generate();
    const costs = [];
    for (const one of [value, free, "x".repeat(40)]) {
      gets.length = 0;
      await counted.isTaken(one, eve);
      costs.push(gets.length);
    }
    expect(costs).toEqual([1, 1, 1]);
  });

  it("is one key's while servers have different keys of the ring, as long as they share one", async () => {
    const first = deriveRingKey({ secret: SECRET, createdAt: 0, isFirst: true });
    const second = deriveRingKey({ secret: Buffer.alloc(32, 4), createdAt: 1, isFirst: false });
    const ring = (...keys: [typeof first, ...(typeof first)[]]): KeyRing => ({
      keys,
      find: (id) => keys.find((key) => key.id === id),
      refresh: async () => {},
    });
    const rings = [ring(first), ring(second, first), ring(second)];
    await fc.assert(
      fc.asyncProperty(fc.nat(2), fc.nat(2), fc.string({ minLength: 32, maxLength: 40 }), async (one, other, text) => {
        fc.pre(one + other !== 2 || one === other);
        const [near, far] = [make(rings[one] as KeyRing), make(rings[other] as KeyRing)];
        const taken = await Promise.all([
          near.claims.take(`${one}${other}${text}`, claimant("a", "a")),
          far.claims.take(`${one}${other}${text}`, claimant("b", "b")),
        ]);
        expect(taken.filter((result) => result !== undefined).length).toBeLessThanOrEqual(1);
        for (const result of taken) await result?.release();
      }),
      { numRuns: 60 },
    );
  });
});

/** Methods of a class, as members of their own. */
const bind = (store: Storage) => ({
  get: store.get.bind(store),
  create: store.create.bind(store),
  update: store.update.bind(store),
  delete: store.delete.bind(store),
});

it("refuses values of an owner for whom as many as allowed are remembered, and takes those of others", async () => {
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const prefix = "/registry/test/internal/key-values/";
  using accounts = followAccounts({ view: cache.view(prefix), prefix }, systemRuntime.scheduler, accountOfClaim);
  const { secrets } = make(createFixedKeyRing(SECRET));
  const options = { prefix, keyPrefix: "/keys/", storage, secrets, rememberMs: DAY, clock: time.clock };
  const limited = createValueClaims({ ...options, accounts, maxOfOwner: 3 });
  const values = Array.from({ length: 6 }, () => secrets.generate());
  const takes = values.map((one, number) => limited.take(one, claimant(`key-${number}`, "jane")));
  const outcomes = await Promise.allSettled(takes);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({
    reason: { code: 403, message: expect.stringMatching(/^\d values .* of the user "jane" .* the limit is 3/) },
  });
  await expect(limited.checkRoom(secrets.generate(), claimant("dry", "jane"))).rejects.toMatchObject({ code: 403 });
  await limited.checkRoom(secrets.generate(), claimant("dry", "joe"));
  expect(await limited.take(secrets.generate(), claimant("other", "joe"))).toBeDefined();
  // One's own value needs no further record.
  const again = outcomes.findIndex(({ status }) => status === "fulfilled");
  await limited.checkRoom(values[again] ?? "", claimant(`key-${again}`, "jane"));
  expect(await limited.take(values[again] ?? "", claimant(`key-${again}`, "jane"))).toBeDefined();
  await cache[Symbol.asyncDispose]();
});

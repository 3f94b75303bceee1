import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAccessKeyServer } from "../testing/access-key-server.ts";
import { type KeyRecord, keyRecord } from "../testing/key-world.ts";
import { GoodKeys } from "./good-keys.ts";

const root = { name: "root", groups: ["system:masters"] };
const NAMES = ["a", "b", "c"];
const USERS = ["alice", "bob"];
const name = fc.constantFrom(...NAMES);
const user = fc.constantFrom(...USERS);

const PARENT_DISABLED = "the key it was created with is refused: disabled";
const PARENT_GONE = "the key it was created with does not exist";

type Server = Awaited<ReturnType<typeof createAccessKeyServer>>;
type Step = { readonly what: string; readonly run: (server: Server, values: Map<string, string>) => unknown };

const step = <T>(
  what: string,
  of: fc.Arbitrary<T>,
  run: (server: Server, one: T, values: Map<string, string>) => unknown,
) =>
  of.map(
    (one): Step => ({
      what: `${what} ${JSON.stringify(one)}`,
      run: (server, values) => run(server, one, values),
    }),
  );

const patch = (server: Server, url: string, spec: object) =>
  server.send({
    method: "PATCH",
    url,
    user: root,
    headers: { "content-type": "application/merge-patch+json" },
    body: { spec },
  });

const createUser = (server: Server, name: string) =>
  server.send({ method: "POST", url: "users", user: root, body: { metadata: { name }, spec: { subject: name } } });

const steps = fc.array(
  fc.oneof(
    step("create", fc.record({ name, user, ttl: fc.constantFrom(undefined, 60), counts: fc.boolean() }), createKey),
    step("create with", fc.record({ name, with: name }), async (server, { name, with: parent }, values) => {
      const value = values.get(parent);
      const user = server.keys.byName(parent)?.owner.name;
      const as = value === undefined ? undefined : await server.login(value).catch(() => undefined);
      if (as !== undefined && user !== undefined) await createKey(server, { name, user }, values, as);
    }),
    step("delete", name, (server, one) => server.send({ method: "DELETE", url: `ownedaccesskeys/${one}`, user: root })),
    step("disable", fc.tuple(name, fc.boolean()), (server, [one, disabled]) =>
      patch(server, `ownedaccesskeys/${one}`, { disabled }),
    ),
    step("lock user", fc.tuple(user, fc.boolean()), (server, [one, disabled]) =>
      patch(server, `users/${one}`, { disabled }),
    ),
    step("delete user", user, (server, one) => server.send({ method: "DELETE", url: `users/${one}`, user: root })),
    step("create user", user, createUser),
    step("lock", name, (server, one) => {
      const key = server.keys.byName(one);
      if (key !== undefined) server.rotationMarks.lock(key.uid, key.id);
    }),
    step("use", name, async (server, one, values) => server.login(values.get(one) ?? "").catch(() => undefined)),
    step("wait", fc.constantFrom(1_000, 61_000), (server, ms) => server.time.advance(ms)),
  ),
  { minLength: 5, maxLength: 25 },
);

async function createKey(
  server: Server,
  { name, user, ttl, counts }: { name: string; user: string; ttl?: number | undefined; counts?: boolean },
  values: Map<string, string>,
  as?: Awaited<ReturnType<Server["login"]>>,
) {
  // A key that is made with a limited one ends with it.
  const spec = { user, scope: {}, ...(ttl === undefined ? {} : { ttl, ttlAfterLastActivity: counts ?? false }) };
  const { body, status } = await server.send({
    method: "POST",
    url: "ownedaccesskeys",
    body: { metadata: { name }, spec },
    ...(as === undefined ? { user: root } : { as }),
  });
  if (status !== 201) return;
  values.set(name, body.spec.key);
  // Keys that are not used are not remembered. This one may have been made with one that has ended.
  await server.login(body.spec.key).catch(() => undefined);
}

/** The answers of an index about each key, asked twice. */
const statesIn = (keys: Pick<Server["keys"], "byName" | "stateOf">) =>
  NAMES.map((one) => {
    const key = keys.byName(one);
    return key === undefined ? "none" : [keys.stateOf(key)?.message, keys.stateOf(key)?.message];
  });

it("a key that was found good is refused with the next change, as by an index that was asked nothing before", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(steps, async (chosen) => {
      await using server = await createAccessKeyServer();
      const values = new Map<string, string>();
      for (const one of USERS) await createUser(server, one);
      await createKey(server, { name: "a", user: "alice" }, values);
      await createKey(server, { name: "b", user: "alice" }, values, await server.login(values.get("a") ?? ""));
      await createKey(server, { name: "c", user: "bob", ttl: 60 }, values);
      for (const { what, run } of chosen) {
        await run(server, values);
        using anew = server.openIndex();
        const states = statesIn(server.keys);
        expect([what, states]).toEqual([what, statesIn(anew)]);
        for (const state of states) seen.add(String(state[0]));
      }
    }),
    { numRuns: 40, endOnFailure: true },
  );
  // Otherwise nothing was compared.
  for (const state of [
    "undefined",
    "disabled",
    "expired",
    "its user is locked",
    "its user does not exist",
    PARENT_DISABLED,
    PARENT_GONE,
  ])
    expect(seen).toContain(state);
});

describe("a good key is remembered", () => {
  const good = (key: KeyRecord, { keys = [] as KeyRecord[], end = undefined as number | undefined } = {}) => {
    const world = { now: 0, version: 0 };
    const all = [key, ...keys];
    const remembered = new GoodKeys<KeyRecord>({
      byUid: (uid) => all.find((one) => one.uid === uid),
      endOf: () => end,
      epochs: { latest: (epoch) => world.now + epoch },
      directory: world,
    });
    remembered.add(key);
    return { remembered, world, has: () => remembered.has(key) };
  };

  it("until a key or an owner changes", () => {
    const { remembered, world, has } = good(keyRecord());
    expect(has()).toBe(true);
    world.version += 1;
    expect(has()).toBe(false);
    const other = good(keyRecord());
    other.remembered.changed();
    expect([other.has(), remembered.has(keyRecord())]).toEqual([false, false]);
  });

  it("until its end, by the clock of its epoch", () => {
    const { world, has } = good(keyRecord({ epoch: 10 }), { end: 100 });
    world.now = 89;
    expect(has()).toBe(true);
    world.now = 90;
    expect(has()).toBe(false);
  });

  const grant = { rule: "trustrules/p-a/x", ruleUid: "r", terms: "t", until: 1_000 };
  it.each<[string, KeyRecord, KeyRecord[]]>([
    ["a key with a grant, which may end without a change", keyRecord({ grant }), []],
    ["a key whose lifetime begins again with each use", keyRecord({ countsFromActivity: true, ttl: 60 }), []],
    ["a key whose parent is gone", keyRecord({ parentUids: ["gone"] }), []],
    ["a key whose parent has a grant", keyRecord({ parentUids: ["p"] }), [keyRecord({ uid: "p", grant })]],
    ["a key whose parent has another clock", keyRecord({ parentUids: ["p"] }), [keyRecord({ uid: "p", epoch: 1 })]],
    ["a key whose parent has parents", keyRecord({ parentUids: ["p"] }), [keyRecord({ uid: "p", parentUids: ["q"] })]],
  ])("but not %s", (_, key, keys) => expect(good(key, { keys }).has()).toBe(false));

  it("but not by a record that another one has replaced", () => {
    const { remembered } = good(keyRecord({ ttl: 60 }));
    const earlier = keyRecord();
    remembered.add(earlier);
    expect(remembered.has(earlier)).toBe(false);
  });

  it("with its parent", () => {
    const key = keyRecord({ parentUids: ["p"] });
    expect(good(key, { keys: [keyRecord({ uid: "p" })] }).has()).toBe(true);
  });
});

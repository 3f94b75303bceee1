// A key tries to outlive what it was given: by its own TTL, by another's, and by what the server gives to keys that say nothing.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { APPLY, type Attack, type AttackedServer, JSON_PATCH, MERGE, startAttacked } from "./testing/attacking.ts";

const DAY = 86_400;
const TEN_YEARS = 3652 * DAY;
const KEYS = [{ resources: [{ group: "management.postern", resources: ["ownedaccesskeys"] }] }];
const own = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey" };

let server: AttackedServer;
let jane: string;
let boss: string;
let count = 0;
beforeAll(async () => {
  server = await startAttacked();
  jane = await server.user("jane");
  boss = await server.user("boss");
  const resources = ["ownedaccesskeys"];
  await server.grant("extends", "boss", [{ verbs: ["extend"], apiGroups: ["management.postern"], resources }]);
});
afterAll(() => server[Symbol.asyncDispose]());

const secondsOf = ({ metadata, status }: any): number =>
  (Date.parse(status?.expirationTimestamp) - Date.parse(metadata.creationTimestamp)) / 1000;
const read = (name: string) => server.must({ path: `ownedaccesskeys/${name}` });

/** Every way to write `ttl` (undefined takes it away) and to count it from the last use. */
const WAYS: readonly [
  how: string,
  attack: (old: any, spec: object, ttl: number | undefined) => Omit<Attack, "path">,
][] = [
  ["PUT", (old, spec, ttl) => ({ method: "PUT", body: { ...old, spec: { ...old.spec, ...spec, ttl } } })],
  [
    "merge patch",
    (_, spec, ttl) => ({ method: "PATCH", headers: MERGE, body: { spec: { ...spec, ttl: ttl ?? null } } }),
  ],
  [
    "JSON patch",
    (_, spec, ttl) => ({
      method: "PATCH",
      headers: JSON_PATCH,
      body: [
        ...Object.entries(spec).map(([name, value]) => ({ op: "add", path: `/spec/${name}`, value })),
        ttl === undefined ? { op: "remove", path: "/spec/ttl" } : { op: "replace", path: "/spec/ttl", value: ttl },
      ],
    }),
  ],
];
const LONGER: readonly [what: string, spec: object, ttl: number | undefined][] = [
  ["without an end", {}, 0],
  ["ten years", {}, TEN_YEARS],
  ["a second more", {}, 3601],
  ["absent", {}, undefined],
  ["counted from the last use", { ttlAfterLastActivity: true }, 3600],
  ["shorter, but counted from the last use", { ttlAfterLastActivity: true }, 60],
];

describe("a TTL is extended only with the verb extend", () => {
  for (const [what, spec, ttl] of LONGER) {
    for (const [how, attack] of WAYS) {
      test(`${what}, by ${how} (security book 2, 14)`, async () => {
        const name = `life-${++count}`;
        const key = await server.key(name, { user: "jane", ttl: 3600, rules: KEYS });
        const old = await read(name);
        const refused = { path: `ownedaccesskeys/${name}`, ...attack(old, spec, ttl) };
        // The key itself, its owner with an unrestricted key, and users that may extend it, with a restricted one.
        expect((await server.send({ ...refused, as: key })).status).toBe(403);
        expect((await server.send({ ...refused, as: jane })).status).toBe(403);
        expect(secondsOf(await read(name))).toBe(3600);
        expect((await server.send(refused)).status).toBe(200);
      });
    }
  }

  test("not even with a limited key of a user who may (security book 2)", async () => {
    const narrow = await server.key("boss-narrow", { user: "boss", ttl: 60, rules: [...KEYS, { verbs: ["extend"] }] });
    const change = { method: "PATCH", headers: MERGE, path: "ownedaccesskeys/boss-narrow", body: { spec: { ttl: 0 } } };
    expect((await server.send({ ...change, as: narrow })).status).toBe(403);
    expect((await server.send({ ...change, as: boss })).status).toBe(200);
  });

  test("applying another TTL is a change like any other (security book 14)", async () => {
    const body = { ...own, metadata: { name: "applied" }, spec: { ttl: 600 } };
    const apply = (ttl: number | undefined, as: string) =>
      server.send({
        method: "PATCH",
        path: "ownedaccesskeys/applied?fieldManager=x&force=true",
        headers: APPLY,
        body: { ...body, spec: ttl === undefined ? {} : { ttl } },
        as,
      });
    expect((await apply(600, jane)).status).toBe(201);
    for (const ttl of [0, 601, undefined]) expect((await apply(ttl, jane)).status).toBe(403);
    expect((await apply(300, jane)).status).toBe(200);
    expect(secondsOf(await read("applied"))).toBe(300);
  });

  test("a user who shortens a TTL cannot undo that", async () => {
    await server.key("short", { user: "jane", ttl: 3600 });
    const set = (ttl: number) => ({
      method: "PATCH",
      headers: MERGE,
      path: "ownedaccesskeys/short",
      body: { spec: { ttl } },
    });
    expect((await server.send({ ...set(60), as: jane })).status).toBe(200);
    expect((await server.send({ ...set(3600), as: jane })).status).toBe(403);
  });
});

describe("a new installation gives keys ninety days", () => {
  test("to every key without a TTL, with a warning (security book 14)", async () => {
    for (const as of [jane, server.admin]) {
      const { body, warnings } = await server.send({ path: "ownedaccesskeys", as, body: { spec: {} } });
      expect(secondsOf(body)).toBe(90 * DAY);
      expect(warnings.join()).toContain(`expires in 90d, at ${body.status.expirationTimestamp}`);
    }
  });

  test("to keys of machines without the verb extend, and no expiration with it (security book 2, 14)", async () => {
    const resources = ["users"];
    await server.grant("lends", "jane", [{ verbs: ["impersonate"], apiGroups: [""], resources }]);
    const body = { spec: { subject: "robot" } };
    const limited = await server.send({ path: "ownedaccesskeys", as: jane, body });
    expect([limited.body.spec.ttl, secondsOf(limited.body)]).toEqual([90 * DAY, 90 * DAY]);
    expect(limited.warnings.join()).toContain("expires in 90d");
    const free = await server.send({ path: "ownedaccesskeys", body });
    expect([free.body.spec.ttl, free.body.status?.expirationTimestamp]).toEqual([undefined, undefined]);
    expect(free.warnings).toEqual([]);
    const path = `ownedaccesskeys/${limited.body.metadata.name}`;
    for (const ttl of [0, null, 90 * DAY + 1]) {
      const change = { method: "PATCH", headers: MERGE, path, body: { spec: { ttl } } };
      // Other users than the owner do not see it either.
      expect([403, 404]).toContain((await server.send({ ...change, as: jane })).status);
    }
    expect(secondsOf(await read(limited.body.metadata.name))).toBe(90 * DAY);
  });

  test.each([0, TEN_YEARS, 90 * DAY + 1])("and %i seconds only with the verb extend", async (ttl) => {
    for (const query of ["", "?dryRun=All"]) {
      const path = `ownedaccesskeys${query}`;
      expect((await server.send({ path, as: jane, body: { spec: { ttl } } })).status).toBe(403);
      expect((await server.send({ path, as: boss, body: { spec: { ttl } } })).status).toBe(201);
    }
  });

  test("a kubeconfig's token gets no more, though it asks for it (security book 2, 14)", async () => {
    const admins = { kind: "User", name: "jane", clusterRole: "postern:project-admin" };
    await server.must({
      method: "PATCH",
      path: "projects/default",
      headers: MERGE,
      body: { spec: { members: [admins] } },
    });
    for (const certificateTTL of [0, TEN_YEARS]) {
      const path = "namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
      const { body } = await server.send({ path, as: jane, body: { spec: { certificateTTL } } });
      const end = Date.parse(body.status.expirationTimestamp);
      expect((end - Date.now()) / 1000).toBeLessThanOrEqual(90 * DAY);
    }
  });

  test("the keys of control planes and the first administrator work on", async () => {
    await server.must({ path: "namespaces/p-default/virtualclusterinstances/demo/accesskey" });
    const { items } = await server.must({ path: "ownedaccesskeys" });
    const endless = items.filter(({ status }: any) => status?.expirationTimestamp === undefined);
    const subjects = endless.map(({ metadata, spec }: any) => spec.subject ?? metadata.name);
    expect(subjects).toEqual(expect.arrayContaining(["admin", "postern:vcluster:p-default:demo"]));
  });
});

describe("a key with a TTL below the default leaves nothing behind that works longer (ADR 132)", () => {
  const child = (as: string, spec: object = {}, more: object = {}) =>
    server.send({ path: "ownedaccesskeys", as, body: { metadata: { generateName: "left-" }, spec }, ...more });
  const newShort = async (): Promise<{ readonly name: string; readonly key: string; readonly end: string }> => {
    const name = `brief-${++count}`;
    const key = await server.key(name, { user: "jane", ttl: 600 });
    return { name, key, end: (await read(name)).status.expirationTimestamp };
  };
  const disable = (name: string) =>
    server.must({
      method: "PATCH",
      path: `ownedaccesskeys/${name}`,
      headers: MERGE,
      body: { spec: { disabled: true } },
    });

  test.each([
    ["a key without a TTL", {}],
    ["a key of 90 days", { ttl: 90 * DAY }],
    ["a key that counts from its last use", { ttl: 300, ttlAfterLastActivity: true }],
    ["a key that calls itself a session", { type: "Login" }],
  ])("not %s (security book 2, 14)", async (_what, spec) => {
    const { name, key, end } = await newShort();
    const made = await child(key, spec);
    expect(made.status, made.text).toBe(201);
    expect(Date.parse(made.body.status.expirationTimestamp)).toBeLessThanOrEqual(Date.parse(end));
    const grandchild = await child(made.body.spec.key);
    expect(Date.parse(grandchild.body.status.expirationTimestamp)).toBeLessThanOrEqual(Date.parse(end));
    await disable(name);
    for (const { body } of [made, grandchild]) expect(await server.isAccepted(body.spec.key)).toBe(false);
  });

  test("not through a session that began with it (security book 2, 14)", async () => {
    const { name, key, end } = await newShort();
    const ofPage = { origin: server.process.url, "sec-fetch-site": "same-origin" };
    const opened = await server.send({ path: "/login/session", as: "", headers: ofPage, body: { key } });
    expect(opened.status, opened.text).toBe(200);
    const session = await server.must({ path: `ownedaccesskeys/${opened.body.keyName}` });
    expect(Date.parse(session.status.expirationTimestamp)).toBeLessThanOrEqual(Date.parse(end));
    const cookie = opened.cookie.replace(/;.*/s, "");
    const headers = { cookie, "x-postern-csrf": opened.body.csrfToken };
    const made = await child("", {}, { headers });
    expect(made.status, made.text).toBe(201);
    expect(Date.parse(made.body.status.expirationTimestamp)).toBeLessThanOrEqual(Date.parse(end));
    await disable(name);
    expect(await server.isAccepted(made.body.spec.key)).toBe(false);
  });

  test("not by a new value for a key that works longer, but for its own children (security book 2, 14)", async () => {
    await server.key("lasting", { user: "jane" });
    const { name, key } = await newShort();
    const own = await child(key);
    const rotate = (target: string) =>
      server.send({ path: `ownedaccesskeys/${target}/rotate`, as: key, body: { spec: { nonce: `${++count}` } } });
    expect((await rotate("lasting")).body.message).toContain("cannot rotate a key that expires later");
    const value = "4b1f8a0c2e7d93f65a1c0e8b7d42f96a30c5";
    const chosen = { method: "PATCH", headers: MERGE, path: "ownedaccesskeys/lasting", body: { spec: { key: value } } };
    expect((await server.send({ ...chosen, as: key })).status).toBe(403);
    expect((await rotate(own.body.metadata.name)).status).toBe(201);
    expect((await rotate(name)).status).toBe(201);
  });

  test("a key with the default TTL makes keys that are on their own: so users renew theirs", async () => {
    const made = await child(jane);
    expect([made.body.metadata.ownerReferences, secondsOf(made.body)]).toEqual([undefined, 90 * DAY]);
  });
});

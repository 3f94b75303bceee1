// A narrowed key makes keys, and tries to have them outlive it. The credential of the request decides whose child a key is.

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { APPLY, type Attack, type AttackedServer, JSON_PATCH, MERGE, startAttacked } from "./testing/attacking.ts";

/** Rules open access keys only where they name them. */
const KEYS = [
  { resources: [{ group: "management.postern", resources: ["ownedaccesskeys", "ownedaccesskeys/*"] }] },
  { resources: [{ group: "storage.postern", resources: ["accesskeys"] }] },
];
const own = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey" };
const chosen = (): string => randomBytes(32).toString("base64url");

let server: AttackedServer;
let count = 0;
beforeAll(async () => {
  server = await startAttacked();
  await server.user("jane");
});
afterAll(() => server[Symbol.asyncDispose]());

type Parent = { readonly name: string; readonly uid: string; readonly key: string };

async function narrowed(spec: object = {}): Promise<Parent> {
  const name = `parent-${++count}`;
  const { metadata, spec: made } = await server.must({
    path: "ownedaccesskeys",
    body: { metadata: { name }, spec: { user: "jane", rules: KEYS, ...spec } },
  });
  return { name, uid: metadata.uid, key: made.key };
}

/** References that could make the server take the creator for another one, or for one that it knows already. */
const REFERENCES: readonly [what: string, of: (parent: Parent) => readonly object[]][] = [
  ["none", () => []],
  ["a ConfigMap with the maker's uid", ({ uid }) => [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid }]],
  ["a User with the maker's uid", ({ uid }) => [{ apiVersion: own.apiVersion, kind: "User", name: "jane", uid }]],
  [
    "the maker's kind in another group, with its uid",
    ({ name, uid }) => [{ apiVersion: "example.com/v1", kind: "OwnedAccessKey", name, uid }],
  ],
  [
    "the maker, under a version that there is not",
    ({ name, uid }) => [{ apiVersion: "management.postern", kind: "OwnedAccessKey", name, uid }],
  ],
  ["a key that there is not", () => [{ ...own, name: "gone", uid: "00000000-0000-4000-8000-000000000000" }]],
];

/** Every way in which a key comes to be. */
const WAYS: readonly [how: string, attack: (name: string, body: object) => Attack][] = [
  ["POST", (_, body) => ({ path: "ownedaccesskeys", body })],
  [
    "server-side apply",
    (name, body) => ({ method: "PATCH", path: `ownedaccesskeys/${name}?fieldManager=x`, body, headers: APPLY }),
  ],
  [
    "POST of the administrators' view",
    (_, body) => ({
      path: "/apis/storage.postern/v1/accesskeys",
      body: { ...body, kind: "AccessKey", apiVersion: "storage.postern/v1" },
    }),
  ],
];

/** Ways to end a maker, and with it all that it made. */
const ENDS: readonly [how: string, attack: (parent: Parent) => Attack][] = [
  [
    "disabled",
    ({ name }) => ({
      method: "PATCH",
      path: `ownedaccesskeys/${name}`,
      body: { spec: { disabled: true } },
      headers: MERGE,
    }),
  ],
  ["deleted", ({ name }) => ({ method: "DELETE", path: `ownedaccesskeys/${name}` })],
];

describe("a key created with a limited key expires with it", () => {
  for (const [references, refer] of REFERENCES) {
    for (const [how, attack] of WAYS) {
      for (const [end, ending] of ENDS) {
        test(`made by ${how} with references to ${references}, the maker ${end} (security book 2, 10)`, async () => {
          const parent = await narrowed();
          const name = `child-${++count}`;
          const key = chosen();
          const body = {
            ...own,
            metadata: { name, ownerReferences: refer(parent) },
            spec: { user: "jane", rules: KEYS, key },
          };
          const made = await server.send({ ...attack(name, body), as: parent.key });
          // Refusing such a reference is as good as not believing it.
          if (made.status >= 400) return;
          expect(await server.isAccepted(key)).toBe(true);
          await server.must(ending(parent));
          expect(await server.isAccepted(key)).toBe(false);
        });
      }
    }
  }

  test("it ends with the maker's time, whatever it asks for (security book 14)", async () => {
    // Longer than a busy machine needs to make the next key with this one.
    const parent = await narrowed({ ttl: 5 });
    const uid = parent.uid;
    const references = [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid }];
    const body = { metadata: { name: "late", ownerReferences: references }, spec: { user: "jane", rules: KEYS } };
    const made = await server.must({ path: "ownedaccesskeys", as: parent.key, body });
    expect(Date.parse(made.status.expirationTimestamp)).toBeLessThan(Date.now() + 5_500);
    await expect.poll(() => server.isAccepted(made.spec.key), { interval: 200 }).toBe(false);
  });

  const CHANGES: readonly [how: string, change: Omit<Attack, "path">][] = [
    ["merge patch", { method: "PATCH", headers: MERGE, body: { metadata: { ownerReferences: null } } }],
    [
      "JSON patch",
      { method: "PATCH", headers: JSON_PATCH, body: [{ op: "remove", path: "/metadata/ownerReferences" }] },
    ],
    [
      "apply",
      {
        method: "PATCH",
        headers: APPLY,
        body: { ...own, metadata: { ownerReferences: [] }, spec: { user: "jane", rules: KEYS } },
      },
    ],
  ];
  for (const [how, change] of CHANGES) {
    test(`taking the reference away by ${how} sets nothing free (security book 10)`, async () => {
      const parent = await narrowed();
      const name = `child-${++count}`;
      const key = await server.key(name, { user: "jane", rules: KEYS }, parent.key);
      const query = how === "apply" ? "?fieldManager=x&force=true" : "";
      await server.send({ ...change, path: `ownedaccesskeys/${name}${query}`, as: parent.key });
      const credentials = await server.must({ path: `ownedaccesskeys/${parent.name}/credentials` });
      expect(JSON.stringify(credentials)).toContain(name);
      await server.must({ method: "DELETE", path: `ownedaccesskeys/${parent.name}` });
      expect(await server.isAccepted(key)).toBe(false);
      // The record of a key is not needed when nothing can revive it.
      await expect.poll(async () => (await server.send({ path: `ownedaccesskeys/${name}` })).status).toBe(404);
    });
  }
});

describe("references that a client writes", () => {
  test("reveal nothing about other users' keys, and link none to them (security book 10, 42)", async () => {
    const joe = await server.user("joe");
    const secret = await narrowed({ ttl: 777 });
    const reference = { ...own, name: secret.name, uid: secret.uid };
    const body = { metadata: { name: "joes", ownerReferences: [reference] }, spec: {} };
    const made = await server.send({ path: "ownedaccesskeys", as: joe, body });
    const plain = await server.send({
      path: "ownedaccesskeys",
      as: joe,
      body: { metadata: { name: "joes-2" }, spec: {} },
    });
    const endOf = (answer: any) =>
      Date.parse(answer.body.status?.expirationTimestamp ?? "") - Date.parse(answer.body.metadata.creationTimestamp);
    expect(Math.abs(endOf(made) - endOf(plain))).toBeLessThan(2_000);
    await server.must({
      method: "PATCH",
      path: `ownedaccesskeys/${secret.name}`,
      body: { spec: { disabled: true } },
      headers: MERGE,
    });
    expect(await server.isAccepted(made.body.spec.key)).toBe(true);
  });
});

describe("keys created for another user or with a kubeconfig", () => {
  const instance = "namespaces/p-default/virtualclusterinstances/demo";
  const tokenIn = (answer: any): string => /token: (\S+)/.exec(answer.status.kubeConfig)?.[1] ?? "";

  test("a limited key creates none for another user (security book 2, 12)", async () => {
    const admin = await server.key("narrow-admin", {
      user: "admin",
      rules: [...KEYS, { verbs: ["impersonate"] }],
    });
    for (const headers of [
      { "impersonate-user": "jane" },
      { "impersonate-user": "jane", "impersonate-group": "postern:user:jane" },
    ]) {
      const { status } = await server.send({
        path: "ownedaccesskeys",
        as: admin,
        headers,
        body: { spec: { user: "jane", rules: KEYS } },
      });
      expect(status).toBe(403);
    }
  });

  test("kubeconfigs of kubeconfigs end with the first key, narrowed or not (security book 2)", async () => {
    const { spec } = await server.must({ path: "ownedaccesskeys", body: { metadata: { name: "first" }, spec: {} } });
    const ask = async (as: string) =>
      tokenIn(await server.must({ path: `${instance}/kubeconfig`, as, body: { spec: {} } }));
    const second = await ask(spec.key);
    const third = await ask(second);
    expect(await Promise.all([second, third].map(server.isAccepted))).toEqual([true, true]);
    await server.must({ method: "DELETE", path: "ownedaccesskeys/first" });
    expect(await Promise.all([second, third].map(server.isAccepted))).toEqual([false, false]);
  });

  test("the team's narrowed key makes keys that end with it (security book 2)", async () => {
    await server.must({ path: "teams", body: { metadata: { name: "devs" }, spec: { users: ["jane"] } } });
    const team = await server.key("team-key", { team: "devs", rules: KEYS });
    const child = await server.key("team-child", { team: "devs", rules: KEYS }, team);
    expect(await server.isAccepted(child)).toBe(true);
    await server.must({ method: "DELETE", path: "ownedaccesskeys/team-key" });
    expect(await server.isAccepted(child)).toBe(false);
  });

  test("a child follows its maker to another owner, or ends (security book 2, 12)", async () => {
    const parent = await narrowed();
    const child = await server.key(`child-${++count}`, { user: "jane", rules: KEYS }, parent.key);
    await server.must({
      method: "PATCH",
      path: `ownedaccesskeys/${parent.name}`,
      body: { spec: { user: "joe" } },
      headers: MERGE,
    });
    expect(await server.isAccepted(child)).toBe(false);
  });
});

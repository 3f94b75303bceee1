// Sections A and B of the security book, attacked over the wire.

import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type BookServer, DEMO, INSTANCES, KEYS, startBookServer } from "../testing/book-server.ts";
import { object, PLATFORM, RBAC } from "../testing/rights-world.ts";

let server: BookServer;
beforeAll(async () => {
  server = await startBookServer();
});
afterAll(() => server?.[Symbol.asyncDispose]());

const SELVES = `${PLATFORM}/selves`;
const statusOf = async (key: string): Promise<number> =>
  (await server.ask(SELVES, { key, body: { apiVersion: "management.postern/v1", kind: "Self" } })).status;

it("a rotation with the key, the nonce or the new value of another changes nothing (security book 6)", async () => {
  const [thief, victim] = [await server.newUser("six-thief"), await server.newUser("six-victim")];
  const rotate = (name: string, key: string, spec: object) =>
    server.ask(`${KEYS}/${name}/rotate`, { key, body: { spec } });
  expect((await rotate("key-of-six-victim", thief, { nonce: "1" })).status).toBeGreaterThanOrEqual(403);
  const own = await rotate("key-of-six-thief", thief, { nonce: "1" });
  expect(own.status, own.text).toBe(201);
  for (const key of [own.body.status.key, victim.slice(0, -1), `${own.body.status.key}x`]) {
    expect((await rotate("key-of-six-victim", key, { nonce: "2" })).status).toBeGreaterThanOrEqual(400);
  }
  const patched = await server.ask(`${KEYS}/key-of-six-victim`, {
    key: own.body.status.key,
    method: "PATCH",
    headers: { "content-type": "application/merge-patch+json" },
    body: { spec: { key: own.body.status.key } },
  });
  expect(patched.status).toBeGreaterThanOrEqual(403);
  expect([await statusOf(victim), await statusOf(own.body.status.key), await statusOf(thief)]).toEqual([201, 201, 401]);
});

it("no other spelling of a key, a subject or a group counts as it (security book 7)", async () => {
  const key = await server.newUser("seven");
  const spellings = [
    key.toUpperCase(),
    key.toLowerCase(),
    `${key}%00`,
    key.replace("pst", "p\u017ft").normalize("NFC"),
    `${key}.`,
    `"${key}"`,
    key.replace("_", "-"),
  ].filter((each) => each !== key && /^[\x20-\x7e]*$/.test(each));
  for (const spelling of spellings) expect(await statusOf(spelling), spelling).toBe(401);
  const groups = [
    "Postern:admins",
    "postern:admins ",
    "POSTERN:ADMINS",
    "postern:admins\u200b",
    "postern\uff1aadmins",
    "*",
  ];
  for (const [at, group] of groups.entries()) {
    const name = `seven-${at}`;
    const made = await server.ask(`${PLATFORM}/users`, { body: object("User", name, { groups: [group] }) });
    if (made.status !== 201) continue;
    const own = await server.newKey(name, { user: name });
    expect((await server.ask(`${PLATFORM}/projects/default`, { key: own })).status, group).toBe(403);
  }
  for (const [at, subject] of ["ADMIN", "admin ", "\u0430dmin", "admin\u200b", "Admin"].entries()) {
    const name = `seven-subject-${at}`;
    const made = await server.ask(`${PLATFORM}/users`, { body: object("User", name, { subject }) });
    if (made.status !== 201) continue;
    const own = await server.newKey(name, { user: name });
    expect((await server.ask(`${PLATFORM}/projects/default`, { key: own })).status, subject).toBe(403);
  }
});

it("a wildcard inside a name of a scope allows nothing (security book 8)", async () => {
  const scopes = [
    "d*",
    "*t",
    "defaul?",
    "de*ult",
    "**",
    ".*",
    "default|x",
    "[a-z]*",
    "default,other",
    "%2a",
    "DEFAULT",
    "",
  ];
  for (const [at, name] of scopes.entries()) {
    for (const [kind, scope] of [
      ["project", { projects: [{ project: name }] }],
      ["cluster", { virtualClusters: [{ project: name, virtualCluster: "demo" }] }],
      [
        "name",
        {
          virtualClusters: [{ project: "default", virtualCluster: name.replace("default", "demo").replace("de", "d") }],
        },
      ],
    ] as const) {
      const made = await server.ask(KEYS, {
        body: object("OwnedAccessKey", `eight-${kind}-${at}`, { user: "admin", scope }),
      });
      if (made.status !== 201) continue;
      const opened = await server.ask(`${INSTANCES}/demo`, { key: made.body.spec.key });
      expect(opened.status, `${kind} ${name}`).toBe(403);
      expect((await server.ask(`${DEMO}/api/v1/namespaces`, { key: made.body.spec.key })).status, name).toBe(403);
    }
  }
  const whole = await server.newKey("eight-star", { user: "admin", scope: { projects: [{ project: "*" }] } });
  expect((await server.ask(`${INSTANCES}/demo`, { key: whole })).status).toBe(200);
});

it("no user creates, changes, rotates or takes over a key of a user with more permissions (security book 12)", async () => {
  const key = await server.newUser("twelve");
  const rules = [
    {
      verbs: ["*"],
      apiGroups: ["management.postern"],
      resources: ["ownedaccesskeys", "ownedaccesskeys/rotate", "ownedaccesskeys/credentials"],
    },
  ];
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "twelve" }, rules };
  await server.send(`${RBAC}/clusterroles`, role);
  await server.send(`${RBAC}/clusterrolebindings`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "twelve" },
    subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "twelve" }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "twelve" },
  });
  const merge = { "content-type": "application/merge-patch+json" };
  const value = `aZ3_${"b4X9q".repeat(8)}`;
  const attempts = [
    await server.ask(KEYS, { key, body: object("OwnedAccessKey", "twelve-a", { user: "admin" }) }),
    await server.ask(KEYS, { key, body: object("OwnedAccessKey", "twelve-b", { subject: "admin" }) }),
    await server.ask(KEYS, { key, body: object("OwnedAccessKey", "twelve-c", { groups: ["postern:admins"] }) }),
    await server.ask(KEYS, { key, body: object("OwnedAccessKey", "twelve-d", { groups: ["system:masters"] }) }),
    await server.ask(`${KEYS}/admin`, { key, method: "PATCH", headers: merge, body: { spec: { key: value } } }),
    await server.ask(`${KEYS}/admin`, { key, method: "PATCH", headers: merge, body: { spec: { user: "twelve" } } }),
    await server.ask(`${KEYS}/admin/rotate`, { key, body: { spec: { nonce: "1" } } }),
    await server.ask(`${KEYS}/key-of-twelve`, {
      key,
      method: "PATCH",
      headers: merge,
      body: { spec: { user: "admin" } },
    }),
    await server.ask(`${KEYS}/key-of-twelve`, {
      key,
      method: "PATCH",
      headers: merge,
      body: { spec: { groups: ["postern:admins"] } },
    }),
    await server.ask(`${KEYS}/admin`, { key, method: "DELETE" }),
  ];
  for (const [at, { status, text }] of attempts.entries()) expect(status, `${at}: ${text}`).toBeGreaterThanOrEqual(400);
  expect((await server.ask(`${PLATFORM}/projects/default`, { key })).status).toBe(403);
  expect(await statusOf(server.admin)).toBe(201);
});

it("no lifetime is so odd that a key or its kubeconfig outlives it (security book 14)", async () => {
  const odd = [-1, 1.5, 2 ** 53, 2 ** 63, 1e308, "60", "NaN", null, true, [60]];
  for (const [at, ttl] of odd.entries()) {
    const made = await server.ask(KEYS, { body: object("OwnedAccessKey", `fourteen-${at}`, { user: "admin", ttl }) });
    expect([201, 400, 422], `${ttl}: ${made.text}`).toContain(made.status);
    // Absent is the default, and nothing else is accepted.
    if (made.status === 201) expect([null, 2 ** 53]).toContain(ttl);
  }
  const parent = await server.newKey("fourteen-parent", { user: "admin", ttl: 8 });
  const asked = await server.ask(`${INSTANCES}/demo/kubeconfig`, {
    key: parent,
    body: { spec: { certificateTTL: 0 } },
  });
  expect(asked.status, asked.text).toBe(201);
  const child = /token: (\S+)/.exec(asked.body.status.kubeConfig)?.[1] ?? "";
  expect(child).not.toBe("");
  expect(new Date(asked.body.status.expirationTimestamp).getTime()).toBeLessThanOrEqual(Date.now() + 9_000);
  const open = (key: string) => server.ask(`${DEMO}/api/v1/namespaces`, { key }).then(({ status }) => status);
  await vi.waitFor(async () => expect([await open(parent), await open(child)]).toEqual([401, 401]), {
    interval: 200,
  });
});

it("of many rotations with one nonce at the same moment, one gives a value (security book 18)", async () => {
  const key = await server.newKey("eighteen", { user: "admin" });
  const tries = await Promise.all(
    Array.from({ length: 20 }, () => server.ask(`${KEYS}/eighteen/rotate`, { body: { spec: { nonce: "once" } } })),
  );
  const values = tries.flatMap(({ body }) => (body?.status?.key === undefined ? [] : [body.status.key]));
  expect(values).toHaveLength(1);
  expect([await statusOf(values[0]), await statusOf(key)]).toEqual([201, 401]);
});

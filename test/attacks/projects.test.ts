// Somebody who administers a project tries to lift what the platform has limited it to.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { APPLY, type Attack, type AttackedServer, JSON_PATCH, MERGE, startAttacked } from "./testing/attacking.ts";

let server: AttackedServer;
let owner: string;
let member: string;
let maker: string;
const LIMITS = { allowedClusters: [{ name: "embedded" }], quotas: { project: { pods: "1" } } };

beforeAll(async () => {
  server = await startAttacked();
  [owner, member, maker] = [await server.user("owner"), await server.user("member"), await server.user("maker")];
  const members = [{ kind: "User", name: "member", clusterRole: "postern:project-admin" }];
  const spec = { owner: { user: "owner" }, members, ...LIMITS };
  await server.must({ path: "projects", body: { metadata: { name: "walled" }, spec } });
  await server.grant("makes-projects", "maker", [
    { verbs: ["create"], apiGroups: ["management.postern"], resources: ["projects"] },
  ]);
});
afterAll(() => server[Symbol.asyncDispose]());

const path = "projects/walled";
const CHANGES: readonly [what: string, attack: Omit<Attack, "path">][] = [
  ["every cluster", { method: "PATCH", headers: MERGE, body: { spec: { allowedClusters: [{ name: "*" }] } } }],
  ["no list of clusters", { method: "PATCH", headers: MERGE, body: { spec: { allowedClusters: null } } }],
  [
    "one cluster more",
    {
      method: "PATCH",
      headers: JSON_PATCH,
      body: [{ op: "add", path: "/spec/allowedClusters/-", value: { name: "far" } }],
    },
  ],
  ["higher quotas", { method: "PATCH", headers: MERGE, body: { spec: { quotas: { project: { pods: "9" } } } } }],
  ["no quotas", { method: "PATCH", headers: JSON_PATCH, body: [{ op: "remove", path: "/spec/quotas" }] }],
];

describe("limits of a project", () => {
  for (const [what, attack] of CHANGES) {
    test(`stay as they are when those who administer it ask for ${what} (security book 1, 12)`, async () => {
      for (const as of [owner, member]) expect((await server.send({ ...attack, path, as })).status).toBe(403);
      expect((await server.must({ path })).spec).toMatchObject(LIMITS);
      // Those of the platform may; it is put back afterwards.
      expect((await server.send({ ...attack, path })).status).toBe(200);
      await server.must({ method: "PATCH", headers: MERGE, path, body: { spec: { ...LIMITS, quotas: null } } });
      await server.must({ method: "PATCH", headers: MERGE, path, body: { spec: LIMITS } });
    });
  }

  test("stay as they are when it is replaced, or applied (security book 1)", async () => {
    const { spec, ...rest } = await server.must({ path });
    for (const changed of [{ allowedClusters: [{ name: "*" }] }, { quotas: {} }]) {
      const put = { method: "PUT", path, as: owner, body: { ...rest, spec: { ...spec, ...changed } } };
      expect((await server.send(put)).status).toBe(403);
      const body = {
        apiVersion: "management.postern/v1",
        kind: "Project",
        metadata: { name: "walled" },
        spec: { allowedClusters: [{ name: "*" }] },
      };
      const apply = { method: "PATCH", path: `${path}?fieldManager=x&force=true`, headers: APPLY, as: owner, body };
      expect((await server.send(apply)).status).toBe(403);
    }
  });

  test("leave those who administer it what is theirs", async () => {
    const body = { spec: { displayName: "Walled", description: "x", members: [] } };
    expect((await server.send({ method: "PATCH", headers: MERGE, path, as: owner, body })).status).toBe(200);
  });

  test("are set by nobody who merely creates projects (security book 1)", async () => {
    const create = (name: string, spec: object) =>
      server.send({ path: "projects", as: maker, body: { metadata: { name }, spec } });
    expect((await create("wide", { allowedClusters: [{ name: "*" }] })).status).toBe(403);
    expect((await create("plain", {})).status).toBe(201);
  });

  test("are changed by who has the verb restrict, and may update", async () => {
    await server.grant("restricts", "member", [
      { verbs: ["restrict", "get", "patch"], apiGroups: ["management.postern"], resources: ["projects"] },
    ]);
    const [, attack] = CHANGES[0] ?? [];
    expect((await server.send({ ...attack, path, as: member })).status).toBe(200);
  });
});

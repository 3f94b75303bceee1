// You cannot write a trust rule that grants more than you may grant yourself.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newSigningKey } from "../../../../foundation/issuers/testing/serve-issuer.ts";
import { type PlatformCall, type RunningPlatform, startPlatform } from "../../../../testing/running-platform.ts";

let platform: RunningPlatform;
let jwks: string;
let count = 0;
const keys: { [name: string]: string } = {};

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const GROUP = "management.postern";

async function keyOf(user: string, spec: object = {}): Promise<string> {
  return (
    await platform.create("ownedaccesskeys", { metadata: { name: `${user}-${++count}` }, spec: { user, ...spec } })
  ).spec.key;
}

beforeAll(async () => {
  platform = await startPlatform();
  jwks = JSON.stringify({ keys: [(await newSigningKey("ES256")).jwk] });
  for (const name of ["writer", "lead", "limited", "other"]) await platform.create("users", { metadata: { name } });
  for (const name of ["bot", "mighty", "stranger"]) {
    await platform.create("users", { metadata: { name }, spec: { kind: "Bot" } });
  }
  const members = [{ kind: "User", name: "lead", clusterRole: "postern:project-admin" }];
  await platform.create("projects", {
    metadata: { name: "team" },
    spec: { members: [...members, { kind: "User", name: "bot", clusterRole: "postern:project-user" }] },
  });
  await platform.create("projects", {
    metadata: { name: "elsewhere" },
    spec: { members: [{ kind: "User", name: "stranger", clusterRole: "postern:project-admin" }] },
  });
  const rules = [
    { verbs: ["*"], apiGroups: [GROUP], resources: ["clustertrustrules", "trustrules", "trustrules/test"] },
  ];
  await platform.create(`${RBAC}/clusterroles`, { metadata: { name: "trust" }, rules });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "trust" };
  const subjects = ["writer", "limited"].map((name) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }));
  await platform.create(`${RBAC}/clusterrolebindings`, { metadata: { name: "trust" }, roleRef, subjects });
  // An administrator.
  await platform.create(`${RBAC}/clusterrolebindings`, {
    metadata: { name: "mighty" },
    roleRef: { ...roleRef, name: "postern:admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "mighty" }],
  });
  for (const name of ["writer", "lead", "limited"]) keys[name] = await keyOf(name);
});
afterAll(() => platform[Symbol.asyncDispose]());

const rule = (spec: object): object => ({
  metadata: { name: `r${++count}` },
  spec: { issuer: { url: "https://issuer.test", jwks }, audiences: ["a"], ...spec },
});
const PROJECT = "namespaces/p-team/trustrules";

const write = async (call: Pick<PlatformCall, "path" | "key">, spec: object): Promise<readonly [number, string]> => {
  const { status, body } = await platform.send({ ...call, body: rule(spec) });
  return [status, body.message ?? ""];
};

describe("a cluster trust rule (security book 12)", () => {
  it("is allowed for its writer", async () => {
    expect(await write({ path: "clustertrustrules", key: keys["writer"] }, { user: "writer" })).toEqual([201, ""]);
  });

  it("is refused for other users, unless the writer may impersonate them", async () => {
    for (const user of ["other", "bot", "mighty", "admin"]) {
      const [status, message] = await write({ path: "clustertrustrules", key: keys["writer"] }, { user });
      expect([user, status, message]).toEqual([
        user,
        403,
        expect.stringContaining(`may not impersonate the user "${user}"`),
      ]);
    }
    expect(await write({ path: "clustertrustrules" }, { user: "other" })).toEqual([201, ""]);
  });

  it("warns of keys that are not narrowed, and of tokens that are not", async () => {
    const warningsOf = async (spec: object): Promise<readonly string[]> =>
      (await platform.send({ path: "clustertrustrules", body: rule({ user: "bot", ...spec }) })).warnings;
    const wide = expect.stringContaining("spec.scope: unset");
    expect(await warningsOf({})).toEqual([wide, expect.stringContaining("spec.claims: unset, and so are conditions")]);
    expect(await warningsOf({ claims: [{ claim: "sub", values: ["a"] }] })).toEqual([wide]);
    expect(await warningsOf({ conditions: [{ expression: "claims.sub == 'a'" }] })).toEqual([wide]);
  });

  it("takes the right to write it", async () => {
    expect((await write({ path: "clustertrustrules", key: keys["lead"] }, { user: "lead" }))[0]).toBe(403);
  });

  it("is held to a narrowed key of its writer, in what it gives and in how long it lasts", async () => {
    const rules = [
      { resources: [{ group: GROUP, resources: ["clustertrustrules"] }] },
      { verbs: ["get"], resources: [{ group: GROUP, resources: ["projects"] }] },
    ];
    const narrow = await keyOf("writer", { rules });
    const call = { path: "clustertrustrules", key: narrow };
    for (const spec of [
      { user: "writer" },
      { user: "writer", scope: {} },
      { user: "writer", rules: [{ verbs: ["get"] }] },
    ]) {
      expect(await write(call, spec)).toEqual([403, expect.stringContaining("more permissions than the access key")]);
    }
    expect((await write(call, { user: "other", rules: [rules[1]] }))[0]).toBe(403);
    expect(await write(call, { user: "writer", rules: [rules[1]] })).toEqual([201, ""]);
  });

  it("checks users who change it like the writer", async () => {
    const { body } = await platform.send({ path: "clustertrustrules", body: rule({ user: "other" }) });
    const path = `clustertrustrules/${body.metadata.name}`;
    const change = (spec: object) =>
      platform.send({ method: "PATCH", path, key: keys["writer"] as string, body: { spec } });
    for (const spec of [{ audiences: ["b"] }, { scope: { projects: [] } }, { disabled: true }, { ttl: 60 }]) {
      expect((await change(spec)).status).toBe(403);
    }
    expect((await change({ description: "of no consequence" })).status).toBe(200);
  });
});

describe("a trust rule of a project (security book 10, 12)", () => {
  it("is written by administrators of the project, for themselves and for bots without more permissions there", async () => {
    for (const user of ["lead", "bot"]) {
      expect(await write({ path: PROJECT, key: keys["lead"] }, { user })).toEqual([201, ""]);
    }
  });

  it("is not for people, nor for bots that do more there than its writer", async () => {
    for (const user of ["other", "admin", "mighty"]) {
      expect([user, (await write({ path: PROJECT, key: keys["lead"] }, { user }))[0]]).toEqual([user, 403]);
    }
  });

  it("is for no bot where its writer does not administer the project", async () => {
    // May write trust rules everywhere, and nothing else.
    expect((await write({ path: PROJECT, key: keys["limited"] }, { user: "bot" }))[0]).toBe(403);
    expect(await write({ path: PROJECT, key: keys["limited"] }, { user: "limited" })).toEqual([201, ""]);
  });

  it("is written in no other project", async () => {
    const path = "namespaces/p-elsewhere/trustrules";
    expect((await write({ path, key: keys["lead"] }, { user: "lead" }))[0]).toBe(403);
    expect((await write({ path: "clustertrustrules", key: keys["lead"] }, { user: "lead" }))[0]).toBe(403);
  });

  it("allows nothing outside its project, by any field", async () => {
    for (const [spec, expected] of [
      [{ scope: { projects: [{ project: "elsewhere" }] } }, 403],
      [{ scope: { projects: [{ project: "*" }] } }, 403],
      [{ scope: { clusters: [{ cluster: "*" }] } }, 403],
      [{ scope: { rules: [{ verbs: ["*"] }] } }, 201],
    ] as const) {
      const [status, message] = await write({ path: PROJECT }, { user: "bot", ...spec });
      expect([spec, status, message]).toEqual([spec, expected, expect.any(String)]);
    }
  });
});

describe("a bot", () => {
  it("is shown as such, and does not sign in", async () => {
    const table = await platform.send({
      path: "users",
      headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" },
    });
    const at = table.body.columnDefinitions.findIndex(({ name }: any) => name === "Kind");
    const kinds = Object.fromEntries(table.body.rows.map(({ cells }: any) => [cells[0], cells[at]]));
    expect(kinds).toMatchObject({ bot: "Bot", lead: "Person" });
    const named = { metadata: { name: "b" }, spec: { kind: "Bot", username: "b", email: "b@example.com" } };
    const { status, body } = await platform.send({ path: "users", body: named });
    expect([status, body.details.causes.map(({ field }: any) => field)]).toEqual([
      422,
      ["spec.username", "spec.email"],
    ]);
    const login = await platform.send({ path: "ownedaccesskeys", body: { spec: { user: "bot", type: "Login" } } });
    expect([login.status, login.body.details.causes[0].field]).toEqual([422, "spec.type"]);
  });

  it("may name a person only if the writer may impersonate that person", async () => {
    await platform.create(`${RBAC}/clusterroles`, {
      metadata: { name: "people" },
      rules: [{ verbs: ["update", "patch", "get"], apiGroups: [GROUP], resources: ["users"] }],
    });
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "people" };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "limited" }];
    await platform.create(`${RBAC}/clusterrolebindings`, { metadata: { name: "people" }, roleRef, subjects });
    const call = { method: "PATCH", path: "users/admin", key: keys["limited"], body: { spec: { kind: "Bot" } } };
    expect((await platform.send(call)).status).toBe(403);
  });
});

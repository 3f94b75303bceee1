// You cannot create a key with more permissions than you have, and a limited key cannot create one beyond its limits.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AccessKeyServer } from "../../testing/access-key-server.ts";
import { admin, createKeyCallers, jane, keyRequests, OWN_VALUE, refused } from "../../testing/key-callers.ts";

let server: AccessKeyServer;

beforeEach(async () => {
  server = await createKeyCallers();
});

afterEach(() => server[Symbol.asyncDispose]());

const { create, patch } = keyRequests(() => server);

describe("the limits of a creator", () => {
  it.each([
    [{ user: "joe" }, /may not impersonate the user "joe"/],
    [{ team: "devs" }, /may not impersonate the team "devs"/],
    [{ subject: "robot" }, /may not impersonate the subject "robot"/],
    [{ groups: ["ops"] }, /not in the group "ops"/],
  ])("refuses %j without permission to impersonate (security book 12)", async (spec, message) => {
    const { status, body } = await create(spec);
    expect([status, body.reason]).toEqual([403, "Forbidden"]);
    expect(body.message).toMatch(message);
  });

  it("gives a group that the creator is in", async () => {
    expect((await create({ groups: ["postern:team:devs"] })).status).toBe(201);
  });

  it("refuses a new value to callers who could not create such a key", async () => {
    await create({ user: "jane", groups: ["ops"] }, { as: admin });
    expect((await patch({ spec: { displayName: "fine" } })).status).toBe(200);
    expect((await patch({ spec: { key: OWN_VALUE } })).status).toBe(403);
  });
});

describe("a narrowed key (security book 2)", () => {
  const scope = { projects: [{ project: "a" }], roles: [{ role: "vcluster", projects: ["a"] }] };
  let parent: any;

  beforeEach(async () => {
    const { key } = (await create({ scope, ttl: 3600 }, { name: "parent" })).body.spec;
    parent = await server.login(key);
  });

  const child = (spec: object, name = "child") =>
    server.send({ method: "POST", url: "ownedaccesskeys", as: parent, body: { metadata: { name }, spec } });

  it.each([
    ["no scope", {}],
    ["another project", { scope: { projects: [{ project: "b" }] } }],
    ["every project", { scope: { projects: [{ project: "*" }] } }],
    ["another role", { scope: { roles: [{ role: "agent" }] } }],
    ["the role for more projects", { scope: { roles: [{ role: "vcluster" }] } }],
    ["a cluster", { scope: { clusters: [{ cluster: "c" }] } }],
    ["rules in place of a scope", { rules: [{ verbs: ["get"] }] }],
    ["another owner", { user: "joe", scope }],
    ["a group that the key lacks", { groups: ["postern:team:devs"], scope }],
  ])("makes none with %s", async (_what, spec) => {
    expect((await child(spec)).status).toBe(403);
  });

  it("makes one within it, that refers to it and dies with it", async () => {
    const narrow = { scope: { virtualClusters: [{ project: "a", virtualCluster: "v" }] }, ttl: 7200 };
    const { status, body } = await child(narrow);
    expect(status).toBe(201);
    expect(body.metadata.ownerReferences).toMatchObject([{ kind: "OwnedAccessKey", name: "parent" }]);
    expect(body.status.expirationTimestamp).toBe("2026-01-01T01:00:00Z");
    // Taking the reference away does not set it free.
    await patch({ metadata: { ownerReferences: null } }, { name: "child", as: admin });
    await server.login(body.spec.key);
    await patch({ spec: { scope: { projects: [], roles: [], clusters: [{ cluster: "c" }] } } }, { name: "parent" });
    await expect(server.login(body.spec.key)).rejects.toMatchObject(refused);
    await patch({ spec: { scope } }, { name: "parent" });
    await server.login(body.spec.key);
    await server.send({ method: "DELETE", url: "ownedaccesskeys/parent", user: jane });
    await expect(server.login(body.spec.key)).rejects.toMatchObject(refused);
  });

  it("cannot widen its scope, extend its TTL, or take over a wider key", async () => {
    await create({}, { name: "wide" });
    await create({ scope }, { name: "sibling" });
    const send = (name: string, body: object) => patch(body, { name, viaKey: parent });
    expect((await send("parent", { spec: { scope: null } })).status).toBe(403);
    expect((await send("parent", { spec: { scope: { projects: [{ project: "*" }] } } })).status).toBe(403);
    expect((await send("parent", { spec: { ttl: 0 } })).status).toBe(403);
    expect((await send("parent", { spec: { ttlAfterLastActivity: true } })).status).toBe(403);
    expect((await send("wide", { spec: { key: OWN_VALUE } })).status).toBe(403);
    expect((await send("sibling", { spec: { key: OWN_VALUE } })).status).toBe(403);
    expect((await send("parent", { spec: { key: OWN_VALUE } })).status).toBe(200);
  });
});

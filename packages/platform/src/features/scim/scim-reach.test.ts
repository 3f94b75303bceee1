// A key with the role scim reaches the SCIM routes alone, and there only what its directory created.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";
import { scimCall } from "./testing/scim-call.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const MARK = "postern/provisioned-by";

let platform: RunningPlatform;
let key: string;

beforeAll(async () => {
  platform = await startPlatform();
  await platform.create("users", { metadata: { name: "directory" }, spec: { kind: "Bot" } });
  await bind("directory", "postern:admin", { kind: "User", name: "directory" });
  await bind("waiting", "postern:admin", { kind: "User", name: "waiting" });
  await bind("waiting-team", "postern:admin", { kind: "Group", name: "postern:team:waiting-team" });
  await platform.create("users", { metadata: { name: "jane" }, spec: {} });
  await platform.create("teams", { metadata: { name: "staff" }, spec: { users: ["jane"] } });
  const made = await platform.create("ownedaccesskeys", {
    metadata: { name: "scim" },
    spec: { user: "directory", scope: { roles: [{ role: "scim" }] } },
  });
  key = made.spec.key;
});
afterAll(() => platform?.[Symbol.asyncDispose]());

const bind = (name: string, role: string, subject: object) =>
  platform.create(`${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", ...subject }],
  });
const scim = (method: string, path: string, body?: object) => scimCall(platform, key, method, path, body);
const patch = (path: string, ...operations: readonly object[]) =>
  scim("PATCH", path, { schemas: [PATCH], Operations: operations });
const user = async (name: string, as?: string) =>
  (await platform.send({ path: `users/${name}`, ...(as === undefined ? {} : { key: as }) })).body;

describe("the management API", () => {
  const IDENTITY = { identities: [{ provider: "corp", subject: "mallory" }] };

  it("refuses an identity in every way of writing a user (PUT, PATCH, apply, create, status)", async () => {
    const admin = await user("admin");
    const json = { "content-type": "application/json" };
    const calls = [
      { method: "PUT", path: "users/admin", body: { ...admin, spec: { ...admin.spec, ...IDENTITY } }, headers: json },
      { method: "PUT", path: "users/admin/status", body: { ...admin, spec: IDENTITY }, headers: json },
      {
        method: "PATCH",
        path: "users/admin",
        body: { spec: IDENTITY },
        headers: { "content-type": "application/merge-patch+json" },
      },
      {
        method: "PATCH",
        path: "users/admin?fieldManager=x&force=true",
        body: { apiVersion: "management.postern/v1", kind: "User", metadata: { name: "admin" }, spec: IDENTITY },
        headers: { "content-type": "application/apply-patch+yaml" },
      },
      { method: "POST", path: "users", body: { metadata: { name: "mallory" }, spec: IDENTITY }, headers: json },
      { method: "POST", path: "teams", body: { metadata: { name: "x" }, spec: { users: ["mallory"] } }, headers: json },
      { method: "DELETE", path: "users/jane", body: undefined, headers: json },
      { method: "DELETE", path: "users", body: undefined, headers: json },
    ];
    for (const { body, ...call } of calls) {
      const answer = await platform.send({ ...call, key, body: body && JSON.stringify(body) });
      expect([call.method, call.path, answer.status]).toEqual([call.method, call.path, 403]);
    }
    expect((await user("admin")).spec).toEqual(admin.spec);
  });

  it("opens no read, list, impersonation or subresource to it", async () => {
    for (const path of ["users/admin", "teams/staff", "users/admin/accesskeys", "users/admin/credentials"])
      expect([path, (await platform.send({ path, key })).status]).toEqual([path, 403]);
    for (const path of ["users", "teams"]) expect((await platform.send({ path, key })).body.items ?? []).toEqual([]);
    const headers = { "impersonate-user": "admin", "impersonate-group": "postern:admins" };
    expect((await platform.send({ path: "projects", key, headers })).status).toBe(403);
    for (const path of ["Users", "Users/jane"])
      expect((await platform.send({ path: `/scim/v2/${path}`, key, headers })).status).toBe(403);
  });
});

describe("SCIM", () => {
  it("does not change, lock or delete users and teams that the directory did not create", async () => {
    const before = [await user("admin"), await user("jane")];
    for (const name of ["admin", "jane"]) {
      const shown = (await scim("GET", `Users/${name}`)).body;
      expect(shown.id).toBe(name);
      for (const active of [false, true]) {
        expect((await scim("PUT", `Users/${name}`, { ...shown, active })).status).toBe(403);
        expect((await patch(`Users/${name}`, { op: "replace", value: { active } })).status).toBe(403);
      }
      expect((await patch(`Users/${name}`, { op: "replace", path: "externalId", value: "1" })).status).toBe(403);
      expect((await scim("DELETE", `Users/${name}`)).status).toBe(403);
    }
    expect((await scim("DELETE", "Groups/staff")).status).toBe(403);
    expect((await patch("Groups/staff", { op: "remove", path: "members" })).status).toBe(403);
    expect((await scim("PUT", "Groups/staff", { displayName: "staff", members: [] })).status).toBe(403);
    expect([await user("admin"), await user("jane")]).toEqual(before);
    expect((await platform.send({ path: "teams/staff" })).body.spec.users).toEqual(["jane"]);
  });

  it("ignores fields of users that are no SCIM attributes", async () => {
    const { body } = await scim("POST", "Users", {
      userName: "plain",
      identities: [{ provider: "corp", subject: "mallory" }],
      spec: { identities: [{ provider: "corp", subject: "mallory" }], groups: ["postern:admins"] },
      groups: [{ value: "staff" }],
      subject: "admin",
      metadata: { annotations: { [MARK]: "user/other" } },
    });
    const made = await user(body.id);
    expect(made.spec).toEqual({});
    expect(made.metadata.annotations).toMatchObject({ [MARK]: "user/directory" });
    expect(made.status.teams).toBeUndefined();
    expect((await scim("DELETE", "Users/plain")).status).toBe(204);
  });

  it("gives no permissions that were granted to a name before", async () => {
    expect((await scim("POST", "Users", { userName: "waiting" })).status).toBe(403);
    expect((await scim("POST", "Groups", { displayName: "waiting-team", members: [] })).status).toBe(403);
  });

  it("has members in its own teams alone, and gives them no more than the team has", async () => {
    await scim("POST", "Users", { userName: "kim" });
    const group = (await scim("POST", "Groups", { displayName: "crew", members: [{ value: "kim" }] })).body.id;
    const add = (team: string) => patch(`Groups/${team}`, { op: "add", path: "members", value: [{ value: "kim" }] });
    expect((await add(group)).status).toBe(204);
    expect((await add("staff")).status).toBe(403);
    expect((await user("kim")).status.teams).toEqual([group]);
  });

  it("reaches a user that an administrator hands over, and no longer after it is taken back", async () => {
    await platform.create("users", {
      metadata: { name: "given", annotations: { [MARK]: "user/directory" } },
      spec: {},
    });
    expect((await patch("Users/given", { op: "replace", value: { active: false } })).body.active).toBe(false);
    const { metadata, ...rest } = await user("given");
    const { [MARK]: _, ...annotations } = metadata.annotations;
    const body = JSON.stringify({ ...rest, metadata: { ...metadata, annotations } });
    const headers = { "content-type": "application/json" };
    expect((await platform.send({ method: "PUT", path: "users/given", body, headers })).status).toBe(200);
    expect((await scim("DELETE", "Users/given")).status).toBe(403);
  });

  it("keeps the last administrator, whatever gives the role", async () => {
    const boss = (await scim("POST", "Users", { userName: "boss" })).body.id;
    const heads = (await scim("POST", "Groups", { displayName: "heads", members: [{ value: boss }] })).body.id;
    await bind("heads", "postern:admin", { kind: "Group", name: `postern:team:${heads}` });
    // Others are administrators too: it is one of many.
    expect((await patch(`Users/${boss}`, { op: "replace", value: { active: false } })).status).toBe(200);
    expect((await patch(`Users/${boss}`, { op: "replace", value: { active: true } })).status).toBe(200);
    const admin = await user("admin");
    const headers = { "content-type": "application/merge-patch+json" };
    const lock = (disabled: boolean) =>
      platform.send({ method: "PATCH", path: "users/admin", headers, body: JSON.stringify({ spec: { disabled } }) });
    expect(admin.spec.disabled ?? false).toBe(false);
    const keeper = (
      await platform.create("ownedaccesskeys", { metadata: { name: "bot" }, spec: { user: "directory" } })
    ).spec.key;
    expect((await lock(true)).status).toBe(200);
    try {
      expect((await patch(`Users/${boss}`, { op: "replace", value: { active: false } })).status).toBe(403);
      expect((await scim("DELETE", `Users/${boss}`)).status).toBe(403);
      expect((await patch(`Groups/${heads}`, { op: "remove", path: "members" })).status).toBe(403);
      expect((await scim("DELETE", `Groups/${heads}`)).status).toBe(403);
    } finally {
      const body = JSON.stringify({ spec: { disabled: false } });
      await platform.send({ method: "PATCH", path: "users/admin", headers, body, key: keeper });
    }
    expect((await scim("DELETE", `Groups/${heads}`)).status).toBe(204);
  });
});

describe("writers of users without the verb impersonate", () => {
  let writer: string;

  beforeAll(async () => {
    await platform.create("users", { metadata: { name: "writer" }, spec: {} });
    await bind("writer", "postern:directory", { kind: "User", name: "writer" });
    writer = (await platform.create("ownedaccesskeys", { metadata: { name: "writer" }, spec: { user: "writer" } })).spec
      .key;
  });
  const put = async (name: string, change: (object: any) => object) =>
    await platform.send({
      method: "PUT",
      path: `users/${name}`,
      key: writer,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(change(await user(name))),
    });

  it.each([
    ["an identity", { identities: [{ provider: "corp", subject: "mallory" }] }],
    ["a subject", { subject: "mallory" }],
    ["a group", { groups: ["ops"] }],
    ["a lock", { disabled: true }],
    ["another kind", { kind: "Bot" }],
    ["an e-mail address", { email: "mallory@example.com" }],
    ["a username", { username: "mallory" }],
  ])("cannot give an administrator %s", async (_, spec) => {
    expect((await put("admin", (object) => ({ ...object, spec: { ...object.spec, ...spec } }))).status).toBe(403);
  });

  it("cannot create the user of an administrator's identity, subject or group", async () => {
    for (const spec of [
      { subject: "waiting" },
      { groups: ["postern:admins"] },
      { identities: [{ provider: "corp", subject: "x" }] },
    ]) {
      const answer = await platform.send({
        path: "users",
        key: writer,
        body: { metadata: { name: "new-one" }, spec },
      });
      expect([spec, answer.status]).toEqual([spec, 403]);
    }
  });

  it("cannot hand a user to a directory, nor take it away", async () => {
    const marked = (mark: string | undefined) => (object: any) => ({
      ...object,
      metadata: { ...object.metadata, annotations: mark === undefined ? {} : { [MARK]: mark } },
    });
    expect((await put("admin", marked("user/writer"))).status).toBe(403);
    expect((await put("kim", marked(undefined))).body.metadata?.annotations).toMatchObject({
      [MARK]: "user/directory",
    });
  });
});

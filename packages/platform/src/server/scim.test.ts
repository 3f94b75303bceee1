// A directory writes its people and groups over SCIM, in the forms that Entra ID and Okta publish.
// Sources: learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups,
// developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
const PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

let platform: RunningPlatform;
let key: string;

beforeAll(async () => {
  platform = await startPlatform();
  await platform.create("users", { metadata: { name: "directory" }, spec: { kind: "Bot" } });
  await platform.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "directory" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "postern:admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "directory" }],
  });
  const made = await platform.create("ownedaccesskeys", {
    metadata: { name: "scim" },
    spec: { user: "directory", scope: { roles: [{ role: "scim" }] } },
  });
  key = made.spec.key;
});
afterAll(() => platform?.[Symbol.asyncDispose]());

const scim = (method: string, path: string, body?: object, as = key) =>
  platform.send({
    method,
    path: `/scim/v2/${path}`,
    key: as,
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: { "content-type": "application/scim+json" },
  });
const filtered = (path: string, filter: string, more = ""): string =>
  `${path}?filter=${encodeURIComponent(filter)}${more}`;
const patch = (path: string, ...operations: readonly object[]) =>
  scim("PATCH", path, { schemas: [PATCH], Operations: operations });

describe("users as Entra ID writes them", () => {
  const userName = `Test_User_${randomUUID()}`;
  const externalId = randomUUID();
  let id = "";

  it("are looked for, created and found", async () => {
    const none = await scim("GET", filtered("Users", `userName eq "${userName}"`));
    expect(none.body).toMatchObject({ totalResults: 0, Resources: [], startIndex: 1, itemsPerPage: 0 });
    const { status, body } = await scim("POST", "Users", {
      schemas: [USER, ENTERPRISE],
      externalId,
      userName,
      active: true,
      emails: [{ primary: true, type: "work", value: "Test_User@testuser.com" }],
      meta: { resourceType: "User" },
      name: { formatted: "givenName familyName", familyName: "familyName", givenName: "givenName" },
      roles: [],
    });
    expect([status, body]).toMatchObject([201, { userName, externalId, active: true, meta: { resourceType: "User" } }]);
    id = body.id;
    expect((await scim("GET", `Users/${id}`)).body).toMatchObject({
      id,
      userName,
      displayName: "givenName familyName",
    });
    const found = await scim("GET", filtered("Users", `userName eq "${userName.toLowerCase()}"`));
    expect(found.body.Resources.map((user: any) => user.id)).toEqual([id]);
    expect((await scim("GET", filtered("Users", `externalId eq "${externalId}"`))).body.totalResults).toBe(1);
    const { body: user } = await platform.send({ path: `users/${id}` });
    expect(user.spec).toMatchObject({ subject: userName, username: userName, email: "Test_User@testuser.com" });
  });

  it("are not created twice", async () => {
    const { status, body } = await scim("POST", "Users", { schemas: [USER], userName: userName.toUpperCase() });
    expect([status, body.scimType, body.schemas]).toEqual([
      409,
      "uniqueness",
      ["urn:ietf:params:scim:api:messages:2.0:Error"],
    ]);
  });

  it("are patched, and locked together with their open connections", async () => {
    const changed = await patch(
      `Users/${id}`,
      { op: "Replace", path: 'emails[type eq "work"].value', value: "updatedEmail@microsoft.com" },
      { op: "Replace", path: "displayName", value: "Updated" },
    );
    expect(changed.body).toMatchObject({ displayName: "Updated", emails: [{ value: "updatedEmail@microsoft.com" }] });
    const own = await platform.create("ownedaccesskeys", { metadata: { name: "theirs" }, spec: { user: id } });
    const watch = await platform.open({
      path: "/apis/management.postern/v1/ownedaccesskeys?watch=true",
      key: own.spec.key,
    });
    // As texts in older jobs.
    const off = await patch(`Users/${id}`, { op: "Replace", path: "active", value: "False" });
    expect([off.status, off.body.active]).toEqual([200, false]);
    await watch.ended;
    expect((await platform.send({ path: "selves", key: own.spec.key, body: { spec: {} } })).status).toBe(401);
    const on = await patch(`Users/${id}`, { op: "Add", path: "active", value: true });
    expect(on.body.active).toBe(true);
    expect((await platform.send({ path: "selves", key: own.spec.key, body: { spec: {} } })).status).toBe(201);
  });

  it("are deleted", async () => {
    expect((await scim("DELETE", `Users/${id}`)).status).toBe(204);
    expect((await scim("GET", `Users/${id}`)).body).toMatchObject({ status: "404" });
  });
});

describe("groups as Entra ID writes them", () => {
  it("have members that are added and removed", async () => {
    const user = (await scim("POST", "Users", { schemas: [USER], userName: "member@example.com" })).body.id;
    const { status, body } = await scim("POST", "Groups", {
      schemas: [GROUP, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
      externalId: randomUUID(),
      displayName: "Engineers",
      members: [],
      meta: { resourceType: "Group" },
    });
    expect(status).toBe(201);
    const path = `Groups/${body.id}`;
    const found = await scim("GET", filtered("Groups", 'displayName eq "Engineers"', "&excludedAttributes=members"));
    expect(found.body.Resources).toMatchObject([{ id: body.id, displayName: "Engineers" }]);
    expect(found.text).not.toContain("members");
    await patch(path, { op: "Add", path: "members", value: [{ $ref: null, value: user }] });
    expect((await scim("GET", path)).body.members).toMatchObject([{ value: user }]);
    expect((await scim("GET", `Users/${user}`)).body.groups).toMatchObject([{ value: body.id }]);
    expect((await platform.send({ path: `users/${user}` })).body.status.teams).toEqual([body.id]);
    expect((await patch(path, { op: "Replace", path: "displayName", value: "Engineering" })).status).toBe(204);
    await patch(path, { op: "Remove", path: "members", value: [{ $ref: null, value: user }] });
    expect((await scim("GET", path)).body).toMatchObject({ displayName: "Engineering", members: [] });
    expect((await scim("DELETE", path)).status).toBe(204);
  });
});

describe("requests of Okta", () => {
  it("reads pages, replaces users, and deactivates without a path", async () => {
    const userName = "test.user@okta.local";
    const created = await scim("POST", "Users", {
      schemas: [USER],
      userName,
      name: { givenName: "Test", familyName: "User" },
      emails: [{ primary: true, value: userName, type: "work" }],
      displayName: "Test User",
      locale: "en-US",
      externalId: "00ujl29u0le5T6Aj10h7",
      groups: [],
      active: true,
    });
    expect(created.status).toBe(201);
    const { id } = created.body;
    const page = await scim("GET", filtered("Users", `userName eq "${userName}"`, "&startIndex=1&count=100"));
    expect(page.body).toMatchObject({ totalResults: 1, itemsPerPage: 1, Resources: [{ id }] });
    const put = await scim("PUT", `Users/${id}`, { ...created.body, displayName: "Another Name" });
    expect(put.body).toMatchObject({ id, displayName: "Another Name", externalId: "00ujl29u0le5T6Aj10h7" });
    const off = await patch(`Users/${id}`, { op: "replace", value: { active: false } });
    expect(off.body.active).toBe(false);
    const group = (await scim("POST", "Groups", { schemas: [GROUP], displayName: "Test SCIMv2", members: [] })).body.id;
    await patch(
      `Groups/${group}`,
      { op: "add", path: "members", value: [{ value: id, display: userName }] },
      { op: "replace", value: { id: group, displayName: "Renamed" } },
    );
    expect((await scim("GET", `Groups/${group}`)).body).toMatchObject({
      displayName: "Renamed",
      members: [{ value: id }],
    });
    await patch(`Groups/${group}`, { op: "remove", path: `members[value eq "${id}"]` });
    expect((await scim("GET", `Groups/${group}`)).body.members).toEqual([]);
    const none = await scim("GET", "Users?startIndex=1&count=0");
    expect([none.body.itemsPerPage, none.body.totalResults > 0]).toEqual([0, true]);
  });
});

describe("the service", () => {
  it("describes itself", async () => {
    expect((await scim("GET", "ServiceProviderConfig")).body).toMatchObject({ patch: { supported: true } });
    expect((await scim("GET", "ResourceTypes")).body.Resources.map(({ name }: any) => name)).toEqual(["User", "Group"]);
    expect((await scim("GET", `Schemas/${USER}`)).body.attributes.length).toBeGreaterThan(3);
    expect((await scim("GET", "Users")).body.Resources.map(({ id }: any) => id)).not.toContain("directory");
    expect((await scim("GET", "Users/directory")).status).toBe(404);
  });

  it("accepts only keys with the role, which allows nothing else", async () => {
    expect((await scim("GET", "Users", undefined, platform.adminKey)).status).toBe(403);
    expect((await scim("GET", "Users", undefined, "")).status).toBe(401);
    for (const path of ["projects", "ownedaccesskeys", "clustertrustrules", "/api/v1/namespaces/p-default/secrets"])
      expect((await platform.send({ path, key })).body.items ?? []).toEqual([]);
    const made = await platform.send({
      path: "ownedaccesskeys",
      key,
      body: { metadata: { name: "x" }, spec: { user: "admin" } },
    });
    expect(made.status).toBe(403);
    // Whomever it acts as, it is a directory's.
    const headers = { "impersonate-user": "admin", "impersonate-group": "postern:admins" };
    for (const path of [
      "projects",
      "ownedaccesskeys",
      "/api/v1/namespaces/p-default/secrets",
      "users/admin/accesskeys",
    ]) {
      const { status, body } = await platform.send({ path, key, headers });
      expect([path, status >= 400 || body.items.length === 0]).toEqual([path, true]);
    }
  });

  it.each([
    'userName eq "a" and',
    "userName foo 1",
    "(userName pr",
    'emails[type eq "work"',
    'userName eq "unclosed',
    `${"(".repeat(50)}userName pr${")".repeat(50)}`,
  ])("refuses the filter %s", async (filter) => {
    const { status, body } = await scim("GET", filtered("Users", filter));
    expect([status, body.scimType]).toEqual([400, "invalidFilter"]);
  });

  it.each([
    ['userName co "okta" and active eq false', 1],
    ['not (userName co "okta") and userName sw "test.user"', 0],
    ['emails[type eq "work" and value ew "@okta.local"]', 1],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "TEST.USER@okta.local"', 1],
    ["externalId pr", 1],
  ])("finds by %s", async (filter, count) => {
    expect((await scim("GET", filtered("Users", filter))).body.totalResults).toBe(count);
  });
});

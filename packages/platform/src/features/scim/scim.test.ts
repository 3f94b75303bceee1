// A directory writes its people and groups over SCIM, in the forms that Entra ID and Okta publish.
// Sources: learn.microsoft.com/entra/identity/app-provisioning/use-scim-to-provision-users-and-groups,
// developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";
import { scimCall } from "./testing/scim-call.ts";

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

const scim = (method: string, path: string, body?: object, as = key) => scimCall(platform, as, method, path, body);
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
    const typed = (type: string) => ({ op: "remove", path: `members[value eq "${user}" and type eq "${type}"]` });
    // Every operation sees the types, not only the first.
    await patch(path, typed("Group"), typed("Group"), typed("User"));
    expect((await scim("GET", path)).body.members).toEqual([]);
    await patch(path, { op: "Add", path: "members", value: [{ value: user }] });
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

describe("values of another type", () => {
  let id = "";
  let group = "";
  const isDisabled = async (): Promise<boolean> =>
    (await platform.send({ path: `users/${id}` })).body.spec.disabled === true;

  beforeAll(async () => {
    id = (await scim("POST", "Users", { schemas: [USER], userName: "typed@example.com", active: false })).body.id;
    group = (await scim("POST", "Groups", { schemas: [GROUP], displayName: "Typed", members: [{ value: id }] })).body
      .id;
  });

  const inactive = [
    "no",
    "",
    " true",
    "0",
    "yes",
    "False ",
    0,
    1,
    null,
    [],
    [false],
    [true],
    {},
    { value: true },
    "TRUE\u0000",
  ];

  it.each(inactive)("leave a locked user locked: active %j", async (active) => {
    const own = { schemas: [USER], userName: "typed@example.com" };
    const requests = [
      patch(`Users/${id}`, { op: "replace", path: "active", value: active }),
      patch(`Users/${id}`, { op: "add", path: "Active", value: active }),
      patch(`Users/${id}`, { op: "replace", path: `${USER}:active`, value: active }),
      patch(`Users/${id}`, { op: "replace", value: { active } }),
      patch(`Users/${id}`, { op: "Add", value: { [`${USER}:ACTIVE`]: active } }),
      patch(
        `Users/${id}`,
        { op: "replace", path: "active", value: active },
        { op: "replace", path: "active", value: true },
      ),
      scim("PUT", `Users/${id}`, { ...own, active }),
      scim("PUT", `Users/${id}`, { ...own, ACTIVE: active }),
      scim("POST", "Users", { ...own, userName: "new@example.com", active }),
    ];
    for (const { status, body } of await Promise.all(requests))
      expect([status, body.scimType]).toEqual([400, "invalidValue"]);
    expect(await isDisabled()).toBe(true);
  });

  it.each([
    [{ op: "replace", path: "active.value", value: true }],
    [{ op: "replace", path: "active[value eq true]", value: true }],
    [{ op: "replace", path: "active[value eq true].value", value: true }],
    [{ op: "add", path: "active" }],
  ])("are refused below active: %j", async (operation) => {
    expect((await patch(`Users/${id}`, operation)).body).toMatchObject({ status: "400", scimType: "invalidValue" });
    expect(await isDisabled()).toBe(true);
  });

  it.each([
    ["displayName", 5],
    ["displayName", ["a"]],
    ["displayName", { value: "a" }],
    ["displayname", true],
    ["externalId", 7],
    ["userName", ["a"]],
    ["name", "A B"],
    ["name", [{ givenName: "A" }]],
    ["name", { givenName: 1 }],
    ["name", { FamilyName: ["B"] }],
    ["name.givenName", { a: 1 }],
    ["emails", "a@example.com"],
    ["emails", ["a@example.com"]],
    ["emails", [{ value: 5 }]],
    ["emails", [{ value: "a@example.com", primary: "no" }]],
    ["emails", [{ value: "a@example.com", type: 1 }]],
    ['emails[type eq "work"].value', 5],
    ['emails[type eq "work"].primary', 0],
  ])("are refused in a user: %s %j", async (path, value) => {
    expect((await patch(`Users/${id}`, { op: "replace", path, value })).body.scimType).toBe("invalidValue");
    if (/[[.]/.test(path)) return;
    const bare = await patch(`Users/${id}`, { op: "replace", value: { [path]: value } });
    const put = await scim("PUT", `Users/${id}`, { schemas: [USER], userName: "typed@example.com", [path]: value });
    for (const { status, body } of [bare, put]) expect([status, body.status]).toEqual([400, "400"]);
  });

  it.each([
    ["members", "typed"],
    ["members", ["typed"]],
    ["members", [{ value: 5 }]],
    ["members", [{ display: "no value" }]],
    ["members", [{ value: "" }]],
    ["members", [{ value: "other-team", type: "Group" }]],
    ["members", [[{ value: "nested" }]]],
    ["displayName", 5],
    ["externalId", {}],
  ])("are refused in a group: %s %j", async (path, value) => {
    for (const { body } of [
      await patch(`Groups/${group}`, { op: "add", path, value }),
      await patch(`Groups/${group}`, { op: "replace", value: { [path]: value } }),
      await scim("PUT", `Groups/${group}`, { schemas: [GROUP], displayName: "Typed", [path]: value }),
      await scim("POST", "Groups", { schemas: [GROUP], displayName: "Another", [path]: value }),
    ])
      expect(body).toMatchObject({ status: "400", scimType: "invalidValue" });
    expect((await scim("GET", `Groups/${group}`)).body.members).toMatchObject([{ value: id }]);
  });

  it("are refused where an attribute is given twice", async () => {
    const body = { schemas: [USER], userName: "typed@example.com", active: false, Active: true };
    expect((await scim("PUT", `Users/${id}`, body)).body.scimType).toBe("invalidSyntax");
    expect(await isDisabled()).toBe(true);
  });

  it("do not matter in the case of texts, and names of attributes have none", async () => {
    const own = { schemas: [USER], userName: "typed@example.com" };
    for (const active of ["TRUE", "true", "tRuE", true]) {
      expect((await scim("PUT", `Users/${id}`, { ...own, Active: active })).body.active).toBe(true);
      expect((await scim("PUT", `Users/${id}`, { ...own, active: "FALSE" })).body.active).toBe(false);
    }
    expect((await scim("PUT", `Users/${id}`, { schemas: [USER], USERNAME: "typed@example.com" })).status).toBe(200);
  });
});

describe("a lock", () => {
  it("stays when a directory says nothing of it", async () => {
    const own = { schemas: [USER], userName: "locked@example.com" };
    const { id } = (await scim("POST", "Users", own)).body;
    const { body: user } = await platform.send({ path: `users/${id}` });
    expect(user.spec.disabled).toBeUndefined();
    const locked = { ...user, spec: { ...user.spec, disabled: true } };
    expect((await platform.send({ method: "PUT", path: `users/${id}`, body: locked })).status).toBe(200);
    for (const answer of [
      await scim("PUT", `Users/${id}`, own),
      await scim("PUT", `Users/${id}`, { ...own, displayName: "Else" }),
      await scim("PUT", `Users/${id}`, { ...own, name: { givenName: "E" }, emails: [{ value: "e@example.com" }] }),
      await patch(`Users/${id}`, { op: "remove", path: "active" }),
      await patch(`Users/${id}`, { op: "replace", path: "displayName", value: "Other" }),
      await patch(`Users/${id}`, { op: "replace", value: { displayName: "Another" } }),
      await patch(`Users/${id}`),
    ])
      expect([answer.status, answer.body.active]).toEqual([200, false]);
    expect((await scim("PUT", `Users/${id}`, { ...own, active: true })).body.active).toBe(true);
  });
});

describe("operations that are not valid", () => {
  it.each([
    [{ op: "remove" }, "noTarget"],
    [{ op: "remove", path: "" }, "noTarget"],
    [{ op: "remove", value: { members: [] } }, "noTarget"],
    [{ op: "move", path: "displayName", value: "x" }, "invalidSyntax"],
    [{ path: "displayName", value: "x" }, "invalidSyntax"],
    [{ op: 5, path: "displayName", value: "x" }, "invalidSyntax"],
    ["replace", "invalidSyntax"],
    [{ op: "add", value: "x" }, "invalidValue"],
    [{ op: "replace", path: 5, value: "x" }, "invalidPath"],
    [{ op: "replace", path: 'members[value eq "a"', value: "x" }, "invalidPath"],
    [{ op: "replace", path: 'members[value foo "a"]', value: {} }, "invalidFilter"],
  ])("are refused: %j", async (operation, scimType) => {
    const { id } = (await scim("POST", "Groups", { schemas: [GROUP], displayName: randomUUID() })).body;
    const { status, body, headers } = await patch(`Groups/${id}`, operation as object);
    expect([status, body.scimType, headers["x-content-type-options"]]).toEqual([400, scimType, "nosniff"]);
  });

  it("are refused without a list of operations", async () => {
    expect((await scim("PATCH", "Groups/any", { schemas: [PATCH] })).status).toBe(404);
    const { id } = (await scim("POST", "Groups", { schemas: [GROUP], displayName: randomUUID() })).body;
    expect((await scim("PATCH", `Groups/${id}`, { schemas: [PATCH] })).body.scimType).toBe("invalidSyntax");
  });

  it("remove one member where one is named, not all", async () => {
    const users: string[] = [];
    for (const userName of ["one@example.com", "two@example.com"])
      users.push((await scim("POST", "Users", { schemas: [USER], userName })).body.id);
    const members = users.map((value) => ({ value }));
    const { id } = (await scim("POST", "Groups", { schemas: [GROUP], displayName: "Two", members })).body;
    await patch(`Groups/${id}`, { op: "remove", path: "members", value: { value: users[0] } });
    expect((await scim("GET", `Groups/${id}`)).body.members).toMatchObject([{ value: users[1] }]);
  });
});

describe("a path with a slash at its end, or in other forms", () => {
  it("is that of the collection", async () => {
    const before = (await scim("GET", "Users")).body;
    expect((await scim("GET", "Users/")).body).toMatchObject({ totalResults: before.totalResults });
    const made = await scim("POST", "Users/", { schemas: [USER], userName: "slash@example.com" });
    expect(made.status).toBe(201);
    expect((await scim("GET", `Users/${made.body.id}/`)).body.id).toBe(made.body.id);
    expect((await scim("GET", "ServiceProviderConfig/")).status).toBe(200);
  });

  it.each(["DELETE", "PUT", "PATCH"])("never changes the collection: %s", async (method) => {
    const count = async () => (await platform.send({ path: "users" })).body.items.length;
    const before = await count();
    for (const type of ["Users", "Groups"])
      for (const path of [
        "",
        "/",
        "//",
        "/%2f",
        "%2f",
        "%2F%2F",
        "/.",
        "/..",
        "/%2e",
        "/%2e%2e",
        "//x",
        "/x//",
        "/%00",
      ]) {
        const { status } = await scim(method, `${type}${path}`, { schemas: [USER], userName: "x" });
        expect([path, [400, 404, 405].includes(status)]).toEqual([path, true]);
      }
    expect(await count()).toBe(before);
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

  it("refuses a missing and a wrong key with an error of SCIM (RFC 7644, 3.12)", async () => {
    const wrong = "x".repeat(43);
    for (const as of ["", wrong, `${key}x`]) {
      for (const path of ["Users", "ServiceProviderConfig", "Nothing"]) {
        const { status, headers, body } = await scim("GET", path, undefined, as);
        expect([as, path, status, headers["content-type"]]).toEqual([as, path, 401, "application/scim+json"]);
        expect(body).toEqual({
          schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
          status: "401",
          detail: expect.stringMatching(/./),
        });
      }
    }
    expect((await scim("HEAD", "Users", undefined, wrong)).text).toBe("");
    const large = await scim("POST", "Users", { userName: "x".repeat(2 << 20) });
    expect([large.status, large.body.status, large.headers["content-type"]]).toEqual([
      413,
      "413",
      "application/scim+json",
    ]);
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
    ['externalId eq "00ujl29u0le5T6Aj10h7"', 1],
    ['externalId eq "00UJL29U0LE5T6AJ10H7"', 0],
    ['externalid sw "00UJ"', 0],
    ['meta.resourceType eq "user"', 0],
    ['id eq "TEST"', 0],
    ['urn:ietf:params:scim:schemas:core:2.0:User:id sw "TEST.user"', 0],
    ['displayName eq "ANOTHER name"', 1],
  ])("finds by %s", async (filter, count) => {
    expect((await scim("GET", filtered("Users", filter))).body.totalResults).toBe(count);
  });
});

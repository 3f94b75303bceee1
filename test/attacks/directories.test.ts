// A directory, or a thief of its key, cannot remove bots over SCIM, stall other clients, or create a second user of one name among many.

import { type PlatformAnswer, type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** More than one page of a list has, and of a size that no answer holds in one piece. */
const PEOPLE = 550;
const DISPLAY_NAME = "Somebody ".repeat(70).trim();
/** Most of them name no user. */
const MEMBERS = 1_000;

let platform: RunningPlatform;
let key: string;

beforeAll(async () => {
  platform = await startPlatform();
  const { create } = platform;
  await create("users", { metadata: { name: "directory" }, spec: { kind: "Bot" } });
  await create("users", { metadata: { name: "robot" }, spec: { kind: "Bot" } });
  await create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "directory" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "postern:admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "directory" }],
  });
  const spec = { user: "directory", scope: { roles: [{ role: "scim" }] } };
  key = (await create("ownedaccesskeys", { metadata: { name: "directory" }, spec })).spec.key;
  for (let from = 0; from < PEOPLE; from += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        create("users", { metadata: { name: `person-${from + at}` }, spec: { displayName: DISPLAY_NAME } }),
      ),
    );
  const members = Array.from({ length: MEMBERS }, (_, at) => ({ value: `person-${at}` }));
  expect((await scim("POST", "Groups", { displayName: "everybody", members })).status).toBe(201);
}, 300_000);
afterAll(() => platform?.[Symbol.asyncDispose]());

const scim = (method: string, path: string, body?: object): Promise<PlatformAnswer> =>
  platform.send({
    method,
    path: `/scim/v2/${path}`,
    key,
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: { "content-type": "application/scim+json" },
  });
const patch = (path: string, Operations: readonly object[]): Promise<PlatformAnswer> =>
  scim("PATCH", path, { Operations });

describe("bots", () => {
  it.each(["GET", "PUT", "PATCH", "DELETE"])("are not there for %s", async (method) => {
    const body =
      method === "PUT" ? { userName: "robot" } : { Operations: [{ op: "replace", path: "active", value: "False" }] };
    const { status } = await scim(method, "Users/robot", method === "GET" || method === "DELETE" ? undefined : body);
    expect([status, (await platform.send({ path: "users/robot" })).body.spec]).toEqual([404, { kind: "Bot" }]);
  });
});

describe("among many people", () => {
  it("everybody is found, and in the order of pages", async () => {
    const { body } = await scim("GET", "Users?count=400");
    const rest = (await scim("GET", "Users?startIndex=401&count=400")).body;
    expect(body.totalResults).toBeGreaterThan(PEOPLE);
    const ids = [...body.Resources, ...rest.Resources].map(({ id }: any) => id);
    expect([new Set(ids).size, ids.includes("person-549")]).toEqual([body.totalResults, true]);
    const last = await scim("GET", `Users?filter=${encodeURIComponent('userName eq "PERSON-499"')}`);
    expect(last.body.Resources.map(({ id }: any) => id)).toEqual(["person-499"]);
  });

  it("no name is given twice", async () => {
    expect((await scim("POST", "Users", { userName: "Person-499" })).status).toBe(409);
    expect((await scim("PUT", "Users/person-1", { userName: "ADMIN" })).status).toBe(409);
  });
});

describe("the work of one request", () => {
  const removals = Array.from({ length: MEMBERS }, (_, at) => ({
    op: "remove",
    path: `members[value eq "person-${at}" and type eq "User"]`,
  }));

  it("leaves others their turn", async () => {
    let isOver = false;
    const answered = patch("Groups/everybody", removals.slice(0, 500)).finally(() => {
      isOver = true;
    });
    let others = 0;
    while (!isOver) {
      await platform.send({ path: "/livez", key: "" });
      others++;
    }
    expect((await answered).status).toBe(204);
    expect(others).toBeGreaterThan(5);
    const { body } = await scim("GET", "Groups/everybody");
    expect(body.members.length).toBe(MEMBERS - 500);
  });

  it("is bounded, however it is asked for", async () => {
    const wide = Array.from({ length: 21 }, (_, at) => `userName eq "${at}"`).join(" or ");
    expect((await scim("GET", `Users?filter=${encodeURIComponent(wide)}`)).status).toBe(400);
    const members = Array.from({ length: MEMBERS + 200 }, (_, at) => ({ value: `person-${at}` }));
    expect((await patch("Groups/everybody", [{ op: "add", path: "members", value: members }])).status).toBe(204);
    const many = Array.from({ length: 1_000 }, () => ({ op: "add", path: "members", value: [{ value: "person-0" }] }));
    const { status, body } = await patch("Groups/everybody", many);
    expect([status, body.detail]).toEqual([400, expect.stringContaining("send fewer at a time")]);
  });
});

describe("what a request leaves out", () => {
  it("takes no name away, and a value without its list no others", async () => {
    expect((await scim("PUT", "Users/person-2", { active: true })).body).toMatchObject({ scimType: "invalidValue" });
    const one = { op: "replace", path: "members", value: { value: "person-2" } };
    expect((await patch("Groups/everybody", [one])).status).toBe(204);
    expect((await scim("GET", "Groups/everybody")).body.members.map(({ value }: any) => value)).toEqual(["person-2"]);
  });

  it("and what nobody sees is in no name", async () => {
    for (const userName of ["a\u001b[31mb", "admin\u200b", "admin ", "\u202eadmin", "a\nb"])
      expect([userName, (await scim("POST", "Users", { userName })).status]).toEqual([userName, 400]);
  });
});

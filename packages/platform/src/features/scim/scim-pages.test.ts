// Lists of groups with many members come in pages of bounded size.

import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";
import { scimCall } from "./testing/scim-call.ts";

const GROUPS = 8;
const MEMBERS = 5_000;
/** Four of the groups are longer than this together. The Teams are more than is read at once. */
const MOST_BYTES = 4 * 1024 * 1024;

let platform: RunningPlatform;
let key: string;

beforeAll(async () => {
  platform = await startPlatform();
  const made = await platform.create("ownedaccesskeys", {
    metadata: { name: "scim" },
    spec: { user: "admin", scope: { roles: [{ role: "scim" }] } },
  });
  key = made.spec.key;
});
afterAll(() => platform?.[Symbol.asyncDispose]());

const scim = (method: string, path: string, body?: object) => scimCall(platform, key, method, path, body);

const NAMES = Array.from({ length: MEMBERS }, (_, index) => `${"u".repeat(55)}-${index}`);

it("answers with fewer groups than were asked for, and has all of them on the next pages", async () => {
  for (let index = 0; index < GROUPS; index++)
    await platform.create("teams", { metadata: { name: `group-${index}` }, spec: { users: NAMES } });
  const found: string[] = [];
  let pages = 0;
  while (found.length < GROUPS) {
    const { status, body } = await scim("GET", `Groups?count=1000&startIndex=${found.length + 1}`);
    expect([status, body.totalResults, body.startIndex]).toEqual([200, GROUPS, found.length + 1]);
    expect(body.itemsPerPage).toBe(body.Resources.length);
    expect(body.Resources.length).toBeGreaterThan(0);
    expect(JSON.stringify(body).length).toBeLessThan(MOST_BYTES + 1024);
    for (const { id, members } of body.Resources) {
      expect(members).toHaveLength(MEMBERS);
      found.push(id);
    }
    pages++;
  }
  expect(new Set(found).size).toBe(GROUPS);
  expect(pages).toBeGreaterThan(1);
  // Without members they fit into one.
  const { body } = await scim("GET", "Groups?excludedAttributes=members");
  expect(body.Resources).toHaveLength(GROUPS);
}, 60_000);

it("names the members of a very large group without their addresses", async () => {
  const values = Array.from({ length: 10_001 }, (_, index) => ({ value: `u${index}` }));
  const { status, body } = await scim("POST", "Groups", { displayName: "everyone", members: values });
  expect(status).toBe(201);
  expect(body.members).toEqual(values);
}, 60_000);

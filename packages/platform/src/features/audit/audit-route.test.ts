import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";

const search = (platform: RunningPlatform, query = "", key?: string) =>
  platform.send({ path: `/audit/events${query}`, key });

describe("GET /audit/events", () => {
  let platform: RunningPlatform;
  let janesKey: string;
  beforeAll(async () => {
    platform = await startPlatform({ "audit-log-mode": "blocking" });
    await platform.create("users", { metadata: { name: "jane" } });
    const made = await platform.create("ownedaccesskeys", { metadata: { name: "jane-ci" }, spec: { user: "jane" } });
    janesKey = made.spec.key;
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  it("finds requests by key, user and refusal, the newest first, and never a value of a key", async () => {
    await platform.send({ path: "projects", key: janesKey });
    await platform.send({ path: "/apis/rbac.authorization.k8s.io/v1/clusterroles", key: janesKey });
    const found = await search(platform, "?key=jane-ci");
    expect(found.status).toBe(200);
    expect(found.body.isTruncated).toBe(false);
    expect(found.body.items.map(({ verb, object, code }: any) => `${verb} ${object} ${code}`)).toEqual([
      "list clusterroles.rbac.authorization.k8s.io 403",
      "list projects.management.postern 200",
    ]);
    expect(found.text).not.toContain(janesKey);
    const refused = await search(platform, "?user=jane&refused=true");
    expect(refused.body.items).toHaveLength(1);
    expect(refused.body.items[0].message).toContain('cannot list resource "clusterroles"');
    expect((await search(platform, "?key=jane-ci&verb=delete")).body.items).toEqual([]);
    expect((await search(platform, "?key=jane-ci&until=2026-01-31T08:00:00Z")).body.items).toEqual([]);
  });

  it("finds changes of an object by its name, with or without its resource", async () => {
    await platform.create("ownedaccesskeys", { metadata: { name: "short" } });
    await platform.create("ownedaccesskeys", { metadata: { name: "short-2" } });
    await platform.send({ method: "POST", path: "ownedaccesskeys/short/rotate", body: { spec: {} } });
    await platform.send({ method: "DELETE", path: "ownedaccesskeys/short" });
    for (const object of ["short", "ownedaccesskeys/short", "ownedaccesskeys.management.postern/short"]) {
      const { body } = await search(platform, `?object=${object}`);
      expect(body.items.map(({ verb, user }: any) => `${user} ${verb}`)).toEqual([
        "admin delete",
        "admin create",
        "admin create",
      ]);
    }
    expect((await search(platform, "?object=users/short")).body.items).toEqual([]);
    expect((await search(platform, "?object=/audit/events&verb=get")).body.items).not.toEqual([]);
  });

  it("keeps the newest where there are more than the limit, and reports it", async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await platform.send({ path: `projects/${name}`, key: janesKey });
    const { body } = await search(platform, "?key=jane-ci&verb=get&limit=2");
    expect(body.items.map(({ object }: any) => object)).toEqual([
      "projects.management.postern/e",
      "projects.management.postern/d",
    ]);
    expect(body.isTruncated).toBe(true);
  });

  it("leaves out what changes nothing, and what a page of the console asks by itself", async () => {
    const browser = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64)" };
    const spec = { resourceAttributes: { verb: "get", resource: "pods" } };
    const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec };
    const { spec: made } = await platform.create("ownedaccesskeys", { metadata: { name: "shown" }, spec: {} });
    const key = made.key;
    await platform.send({ key, headers: browser, path: "projects" });
    await platform.send({ key, path: "teams" });
    const reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    await platform.send({ key, headers: browser, path: reviews, body: review });
    await platform.send({ key, headers: browser, path: "projects", body: { metadata: { name: "shown" }, spec: {} } });
    await platform.send({ key, path: "projects?dryRun=All", body: { metadata: { name: "dry" }, spec: {} } });
    await platform.send({ key, path: "projects", body: { metadata: { name: "Not a name" } } });
    const objects = async (query: string) =>
      (await search(platform, `?key=shown&${query}`)).body.items.map(({ object, code }: any) => `${object} ${code}`);
    expect(await objects("changes=true")).toEqual([
      "projects.management.postern/Not a name 422",
      "projects.management.postern/shown 201",
    ]);
    expect(await objects("pages=false")).toEqual([
      "projects.management.postern/Not a name 422",
      "projects.management.postern/dry 201",
      "projects.management.postern/shown 201",
      "teams.management.postern 200",
    ]);
    expect(await objects("changes=false&pages=true")).toHaveLength(6);
  });

  it("counts all that is found by parts of the time and by address, also beyond the limit", async () => {
    const { spec } = await platform.create("ownedaccesskeys", {
      metadata: { name: "counted" },
      spec: { user: "jane" },
    });
    const since = new Date(Date.now() - 9 * 3_600_000).toISOString();
    const until = new Date(Date.now() + 3_600_000).toISOString();
    for (let times = 0; times < 3; times++) await platform.send({ path: "projects", key: spec.key });
    await platform.send({ path: "clustertrustrules", key: spec.key });
    const { body } = await search(platform, `?key=counted&since=${since}&until=${until}&parts=10&limit=1`);
    expect([body.items.length, body.isTruncated]).toEqual([1, true]);
    const { requests, refused, sources, ...counts } = body.counts;
    expect([requests.length, requests[8] + requests[9], refused[8] + refused[9]]).toEqual([10, 4, 1]);
    expect(sources).toEqual([{ sourceIP: "127.0.0.1", requests: 4, refused: 1 }]);
    expect(counts).toEqual({ from: since, until, moreSources: 0 });
    // Without a begin, the first part begins with the first request.
    const all = (await search(platform, "?key=counted&parts=4")).body;
    expect(all.counts.from).toBe(new Date(all.items.at(-1).time).toISOString());
    expect(all.counts.requests[0]).toBeGreaterThan(0);
    expect((await search(platform, "?key=counted")).body.counts).toBeUndefined();
  });

  it("is refused to others than administrators, and to their narrowed keys", async () => {
    expect((await search(platform, "", janesKey)).status).toBe(403);
    expect((await search(platform, "", "")).status).toBeGreaterThanOrEqual(401);
    const narrow = await platform.create("ownedaccesskeys", {
      metadata: { name: "narrow" },
      spec: { scope: { projects: [{ project: "default" }] } },
    });
    expect((await search(platform, "", narrow.spec.key)).status).toBe(403);
  });

  it("names the parameter that it cannot read", async () => {
    for (const [query, name] of [
      ["?limit=0", "limit"],
      ["?limit=5001", "limit"],
      ["?limit=ten", "limit"],
      ["?since=yesterday", "since"],
      ["?until=x", "until"],
      ["?refused=1", "refused"],
      ["?changes=yes", "changes"],
      ["?pages=0", "pages"],
      ["?parts=201", "parts"],
      [`?key=${"k".repeat(513)}`, "key"],
      ["?users=jane", "users"],
      ["?key=ci&trustRule=deploy", "trustRule"],
      ["?user=jane&Refused=true", "Refused"],
      ["?user=jane&user=admin", "user"],
    ]) {
      const { status, body } = await search(platform, query);
      expect([status, body.message.split(":")[0]]).toEqual([400, name]);
    }
    expect((await search(platform, "?user=jane&timeout=10s")).status).toBe(200);
    expect((await platform.send({ method: "POST", path: "/audit/events", body: {} })).status).toBe(405);
  });
});

it("explains where to look if the log is written to standard output", async () => {
  await using platform = await startPlatform({ "audit-log-path": "-" });
  const { status, body } = await search(platform);
  expect(status).toBe(404);
  expect(body.message).toContain("standard output");
});

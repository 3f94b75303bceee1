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
      [`?key=${"k".repeat(513)}`, "key"],
      ["?users=jane", "users"],
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

// Keys of a trust rule become invalid with the rule, its user, its writer and by TTL; and leave nothing behind.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { githubClaims } from "../features/trust/testing/ci-claims.ts";
import { type ServedIssuer, serveIssuer } from "../foundation/issuers/testing/serve-issuer.ts";
import { type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

const AUDIENCE = "https://postern.example";

let platform: RunningPlatform;
let issuer: ServedIssuer;
let count = 0;

beforeAll(async () => {
  [issuer, platform] = await Promise.all([
    serveIssuer({ alg: "ES256" }),
    startPlatform({ "proxy-allowed-addresses": ["127.0.0.1/32"] }),
  ]);
  await platform.create("users", { metadata: { name: "bot" }, spec: { kind: "Bot" } });
  await platform.create("users", { metadata: { name: "mighty" }, spec: { kind: "Bot", groups: ["postern:admins"] } });
});
afterAll(async () => {
  await platform[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

const trusting = (spec: object = {}) => ({
  metadata: { name: `rule-${++count}` },
  spec: {
    issuer: { url: issuer.url, jwks: issuer.keySet() },
    audiences: [AUDIENCE],
    claims: [{ claim: "repository_id", values: ["74"] }],
    user: "bot",
    scope: { projects: [{ project: "default" }] },
    ...spec,
  },
});

const exchange = async (rule: string, claims: object = {}) =>
  await platform.send({
    path: "/oauth/token",
    key: "",
    body: new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: await issuer.sign(githubClaims(claims)),
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      rule,
    }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });

async function issue(spec: object = {}, key?: string): Promise<{ readonly rule: string; readonly key: string }> {
  const made = await platform.send({ path: "clustertrustrules", key, body: trusting(spec) });
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  const rule = made.body.metadata.name;
  const { status, body, text } = await exchange(rule);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return { rule, key: body.access_token };
}

const isGood = async (key: string): Promise<boolean> =>
  (await platform.send({ path: "selves", key, body: {} })).status === 201;
const patch = (path: string, body: object, key?: string) => platform.send({ method: "PATCH", path, key, body });

describe("a key that a rule issued (security book 13, 14, 23)", () => {
  const ends: readonly (readonly [how: string, end: (rule: string) => Promise<{ readonly status: number }>])[] = [
    ["is deleted", (rule) => platform.send({ method: "DELETE", path: `clustertrustrules/${rule}` })],
    ["is disabled", (rule) => patch(`clustertrustrules/${rule}`, { spec: { disabled: true } })],
    ["opens less", (rule) => patch(`clustertrustrules/${rule}`, { spec: { scope: { projects: null } } })],
    [
      "takes others",
      (rule) => patch(`clustertrustrules/${rule}`, { spec: { claims: [{ claim: "sub", values: ["x"] }] } }),
    ],
    ["is for somebody else", (rule) => patch(`clustertrustrules/${rule}`, { spec: { user: "admin" } })],
    ["has other keys", (rule) => patch(`clustertrustrules/${rule}`, { spec: { issuer: { url: "https://a.test" } } })],
  ];
  it.each(ends)("ends at once when the rule %s", async (_, end) => {
    const { rule, key } = await issue();
    const watch = await platform.open({
      path: "namespaces/p-default/virtualclusterinstances?watch=1&allowWatchBookmarks=true",
      key,
    });
    expect([await isGood(key), watch.status]).toEqual([true, 200]);
    expect((await end(rule)).status).toBe(200);
    expect(await isGood(key)).toBe(false);
    await watch.ended;
  });

  it("stays when the rule gets another text", async () => {
    const { rule, key } = await issue();
    expect((await patch(`clustertrustrules/${rule}`, { spec: { description: "x" } })).status).toBe(200);
    expect(await isGood(key)).toBe(true);
  });

  it("ends while its user is locked", async () => {
    const { rule, key } = await issue();
    await patch("users/bot", { spec: { disabled: true } });
    expect([await isGood(key), (await exchange(rule)).status]).toEqual([false, 400]);
    await patch("users/bot", { spec: { disabled: false } });
    expect(await isGood(key)).toBe(true);
  });

  it("is not for a later user of the same name (security book 11)", async () => {
    await platform.create("users", { metadata: { name: "gone" }, spec: { kind: "Bot" } });
    const { rule, key } = await issue({ user: "gone" });
    await platform.send({ method: "DELETE", path: "users/gone" });
    await platform.create("users", { metadata: { name: "gone" }, spec: { groups: ["postern:admins"] } });
    expect([await isGood(key), (await exchange(rule)).status]).toEqual([false, 400]);
  });

  it("does not outlive or outreach its rule, whatever its owner makes of it", async () => {
    const { key } = await issue();
    const { body } = await platform.send({ path: "ownedaccesskeys" });
    const self = await platform.send({ path: "selves", key, body: {} });
    const name = self.body.status.accessKey;
    expect(body.items.map(({ metadata }: any) => metadata.name)).toContain(name);
    const wider = await patch(`ownedaccesskeys/${name}`, { spec: { ttl: 0, ttlAfterLastActivity: true } });
    expect(wider.status).toBe(200);
    const shown = await platform.send({ path: `ownedaccesskeys/${name}/credentials` });
    const [entry] = shown.body.status.credentials;
    expect(Date.parse(entry.expirationTimestamp)).toBeLessThanOrEqual(Date.now() + 3_600_000);
    await patch(`ownedaccesskeys/${name}`, { spec: { scope: null } });
    expect(await isGood(key)).toBe(false);
  });

  it("makes nothing that outlives it: no key, and no rule", async () => {
    const { rule, key } = await issue({ user: "mighty", scope: undefined });
    const child = await platform.send({ path: "ownedaccesskeys", key, body: { spec: { user: "mighty" } } });
    expect(child.status).toBe(201);
    const made = await issue({ user: "mighty", scope: undefined }, key);
    expect(await isGood(child.body.spec.key)).toBe(true);
    const other = await platform.send({ path: "ownedaccesskeys", key, body: { spec: { user: "admin" } } });
    expect(other.status).toBe(403);
    await platform.send({ method: "DELETE", path: `clustertrustrules/${rule}` });
    expect([await isGood(child.body.spec.key), await isGood(made.key)]).toEqual([false, false]);
    expect((await exchange(made.rule)).status).toBe(400);
  });

  it("ends with a compromised key that its rule was written with (ADR 21)", async () => {
    const writer = await platform.create("ownedaccesskeys", { metadata: { name: "writer" }, spec: { user: "mighty" } });
    const made = await issue({ user: "mighty", scope: { projects: [{ project: "default" }] } }, writer.spec.key);
    expect(await isGood(made.key)).toBe(true);
    const rotated = await platform.send({
      path: "ownedaccesskeys/writer/rotate",
      body: { spec: { nonce: "first", compromised: true } },
    });
    expect(rotated.status).toBe(201);
    expect([await isGood(made.key), (await exchange(made.rule)).status]).toEqual([false, 400]);
  });

  it("is in the ledger with the claims that earned it", async () => {
    const { rule, key } = await issue();
    const { body } = await platform.send({ path: "selves", key, body: {} });
    const ledger = await platform.send({ path: "users/bot/credentials" });
    const entry = ledger.body.status.credentials.find(({ name }: any) => name === body.status.accessKey);
    expect(entry.issuedBy).toMatchObject({
      rule: `clustertrustrules/${rule}`,
      issuer: issuer.url,
      claims: { repository_id: "74", job_workflow_ref: expect.any(String) },
    });
  });
});

describe("a hundred exchanges (security book 54)", () => {
  it("cost as many keys, which are gone soon after their end, without Events", async () => {
    const rule = (await platform.create("clustertrustrules", trusting())).metadata.name;
    const statuses = new Map<number, number>();
    for (let at = 0; at < 40; at += 20) {
      for (const { status } of await Promise.all(Array.from({ length: 20 }, () => exchange(rule))))
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([...statuses]).toEqual([[200, 40]]);
    const left = async (): Promise<number> =>
      (await platform.send({ path: "ownedaccesskeys" })).body.items.filter(
        ({ status }: any) => status.issuedBy?.rule === `clustertrustrules/${rule}`,
      ).length;
    expect(await left()).toBe(40);
    await platform.send({ method: "DELETE", path: `clustertrustrules/${rule}` });
    await expect.poll(left, { interval: 500 }).toBe(0);
    const events = await platform.send({ path: "/api/v1/events" });
    expect(events.body.items.filter(({ involvedObject }: any) => involvedObject.name.startsWith(`${rule}-`))).toEqual(
      [],
    );
  });
});

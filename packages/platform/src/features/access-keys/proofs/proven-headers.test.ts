// The memory of a connection never outlives the key that was shown on it.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRequestContext } from "../../../testing/request-context.ts";
import { ACCESS_KEY_NOT_FOUND } from "../access-key-refusal.ts";
import { type AccessKeyServer, createAccessKeyServer } from "../testing/access-key-server.ts";

const user = { name: "root", groups: ["system:masters", "system:authenticated"] };

let server: AccessKeyServer;

beforeEach(async () => {
  server = await createAccessKeyServer();
  await put("users", "jane", { subject: "jane@example.test", groups: ["eng"] });
});

afterEach(() => server[Symbol.asyncDispose]());

const put = (url: string, name: string, spec: object) =>
  server.send({ method: "POST", url, user, body: { metadata: { name }, spec } });

const patch = (url: string, body: object) =>
  server.send({ method: "PATCH", url, headers: { "content-type": "application/merge-patch+json" }, user, body });

const remove = (url: string) => server.send({ method: "DELETE", url, user });

/** `maker` is the key that makes it. */
async function newKey(spec: object, name = "k", maker?: string): Promise<string> {
  const as = maker === undefined ? {} : { as: await server.login(maker) };
  const body = { metadata: { name }, spec };
  const answer = await server.send({ method: "POST", url: "ownedaccesskeys", user, body, ...as });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body.spec.key;
}

/** One connection, on which keys are shown. */
function connectionOf({ authenticator }: Pick<AccessKeyServer, "authenticator">) {
  const connection = {};
  const ask = (key: string, more: object = {}) => {
    const { request } = createRequestContext({ url: "/", headers: { authorization: `Bearer ${key}` } });
    return authenticator.authenticate(Object.assign(request, { connection, ...more }));
  };
  return { ask };
}

describe("a connection on which a key was shown", () => {
  it("belongs to no connection: each header counts separately", async () => {
    const [one, other] = [await newKey({ user: "jane" }), await newKey({ subject: "robot" }, "other")];
    const { ask } = connectionOf(server);
    for (const [key, name] of [
      [one, "jane@example.test"],
      [one, "jane@example.test"],
      [other, "robot"],
      [one, "jane@example.test"],
    ] as const) {
      expect(ask(key)).toMatchObject({ user: { name } });
    }
    expect(() => ask(`${one}x`)).toThrow(ACCESS_KEY_NOT_FOUND);
    expect(() => ask(one, { headers: { authorization: [`Bearer ${one}`, `Bearer ${one}`] } })).toThrow();
    expect(ask(one, { headers: {} })).toBe(undefined);
    const protocol = "base64url.bearer.authorization.k8s.io.";
    const upgrade = { protocol: "websocket", accept: () => expect.unreachable() };
    const both = { authorization: `Bearer ${one}`, "sec-websocket-protocol": `${protocol}eA, v5.channel.k8s.io` };
    expect(() => ask(one, { upgrade, headers: both })).toThrow("not in both");
  });

  it("learns what a change of the key gives it, and of its owner", async () => {
    const key = await newKey({ user: "jane" });
    const { ask } = connectionOf(server);
    ask(key);
    await patch("ownedaccesskeys/k", { spec: { groups: ["more"] } });
    expect(ask(key)).toMatchObject({ user: { groups: expect.arrayContaining(["more"]) } });
    await put("teams", "late", { users: ["jane"] });
    expect(ask(key)).toMatchObject({ user: { groups: expect.arrayContaining(["postern:team:late"]) } });
  });

  it("counts each request as a use of the key", async () => {
    const key = await newKey({ user: "jane", ttl: 60, ttlAfterLastActivity: true });
    const { ask } = connectionOf(server);
    for (let use = 0; use < 5; use++) {
      server.time.advance(50_000);
      ask(key);
    }
    server.time.advance(60_000);
    expect(() => ask(key)).toThrow(ACCESS_KEY_NOT_FOUND);
  });
});

describe("a key that was accepted on a connection is refused there at once when", () => {
  it.each<[string, () => Promise<unknown> | undefined]>([
    ["it is disabled", () => patch("ownedaccesskeys/k", { spec: { disabled: true } })],
    ["it is deleted", () => remove("ownedaccesskeys/k")],
    ["it expires", () => void server.time.advance(60_000)],
    ["it gets another value", () => patch("ownedaccesskeys/k", { spec: { key: `${crypto.randomUUID()}x7Q` } })],
    ["its user is locked", () => patch("users/jane", { spec: { disabled: true } })],
    ["its user is deleted", () => remove("users/jane")],
    ["its parent is deleted", () => remove("ownedaccesskeys/parent")],
    ["its parent is disabled", () => patch("ownedaccesskeys/parent", { spec: { disabled: true } })],
    ["its parent is narrowed", () => patch("ownedaccesskeys/parent", { spec: { scope: { projects: [] } } })],
  ])("%s", async (_what, revoke) => {
    const scope = { projects: [{ project: "a" }] };
    const parent = await newKey({ user: "jane", scope }, "parent");
    const key = await newKey({ user: "jane", scope, ttl: 60 }, "k", parent);
    const { ask } = connectionOf(server);
    for (let times = 0; times < 3; times++) expect(ask(key)).toMatchObject({ user: { name: "jane@example.test" } });
    await revoke();
    for (let times = 0; times < 2; times++) expect(() => ask(key)).toThrow(ACCESS_KEY_NOT_FOUND);
  });

  it("another of that name takes its place", async () => {
    const key = await newKey({ user: "jane" });
    const { ask } = connectionOf(server);
    ask(key);
    await remove("ownedaccesskeys/k");
    const next = await newKey({ user: "jane" });
    expect(() => ask(key)).toThrow(ACCESS_KEY_NOT_FOUND);
    expect(ask(next)).toMatchObject({ user: { name: "jane@example.test" } });
    expect(() => ask(key)).toThrow(ACCESS_KEY_NOT_FOUND);
  });
});

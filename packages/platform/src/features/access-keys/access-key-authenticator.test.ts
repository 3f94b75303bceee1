// Authentication by key, and the ways in which a key stops being good.

import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRequestContext } from "../../testing/request-context.ts";
import { ACCESS_KEY_NOT_FOUND, type AccessKeyRefusedError } from "./access-key-refusal.ts";
import { type AccessKeyServer, createAccessKeyServer } from "./testing/access-key-server.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };

const HOUR_MS = 3_600_000;

let server: AccessKeyServer;

beforeEach(async () => {
  server = await createAccessKeyServer();
  await put("users", "jane", { subject: "jane@example.test", groups: ["eng"] });
  await put("teams", "devs", { users: ["jane"] });
  await put("teams", "by-group", { groups: ["eng"] });
});

afterEach(() => server[Symbol.asyncDispose]());

const put = (url: string, name: string, spec: object) =>
  server.send({ method: "POST", url, user: admin, body: { metadata: { name }, spec } });

const patch = (url: string, body: object) =>
  server.send({
    method: "PATCH",
    url,
    headers: { "content-type": "application/merge-patch+json" },
    user: admin,
    body,
  });

const remove = (url: string) => server.send({ method: "DELETE", url, user: admin });

async function held(url: string) {
  await patch(url, { metadata: { finalizers: ["example.test/hold"] } });
  const answer = await remove(url);
  expect(answer.body.metadata.deletionTimestamp).not.toBe(undefined);
}

/** `maker` is the key that makes it. */
async function newKey(spec: object = { user: "jane" }, name = "k", maker?: string): Promise<string> {
  const body = { metadata: { name }, spec };
  const as = maker === undefined ? {} : { as: await server.login(maker) };
  const answer = await server.send({ method: "POST", url: "ownedaccesskeys", user: admin, body, ...as });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body.spec.key;
}

describe("the user of a key", () => {
  it("is the user with its groups and teams", async () => {
    const { user, credential } = await server.login(await newKey({ user: "jane", groups: ["extra"] }));
    expect(user).toMatchObject({ name: "jane@example.test", uid: server.directory.user("jane")?.uid });
    expect([...user.groups].sort()).toEqual([
      "eng",
      "extra",
      "postern:authenticated",
      "postern:team:by-group",
      "postern:team:devs",
      "postern:user:jane",
      "system:authenticated",
    ]);
    expect(user.extra).toEqual({ "authentication.postern/access-key-id": [credential?.id] });
  });

  it("is the team, as user and as group", async () => {
    const { user } = await server.login(await newKey({ team: "devs" }));
    expect(user.name).toBe("postern:team:devs");
    expect(user.groups).toEqual(["postern:team:devs", "system:authenticated", "postern:authenticated"]);
  });

  it("is the subject with the groups of the key", async () => {
    const { user } = await server.login(await newKey({ subject: "robot", groups: ["bots"] }));
    expect(user.name).toBe("robot");
    expect(user.groups).toEqual(["bots", "system:authenticated", "postern:authenticated"]);
  });

  it("is remembered until the key or the directory changes", async () => {
    const key = await newKey();
    const first = (await server.login(key)).user;
    expect((await server.login(key)).user).toBe(first);
    await put("teams", "ops", { users: ["jane"] });
    expect((await server.login(key)).user.groups).toContain("postern:team:ops");
  });
});

describe("headers without a valid key (security book 19)", () => {
  const headers = (authorization: string) => ({ authorization });
  it.each([
    ["an unknown key", headers("Bearer pst_aaaaaaaaaa_x")],
    ["one letter", headers("Bearer x")],
    ["a lower-case scheme", headers("bearer x")],
    ["a megabyte", headers(`Bearer ${"x".repeat(1 << 20)}`)],
    ["a NUL", headers("Bearer \u0000")],
  ])("answers %s with the one 401", async (_what, given) => {
    const failure = await refusalOf(given);
    expect(failure).toMatchObject({ code: 401, reason: "Unauthorized", message: ACCESS_KEY_NOT_FOUND });
  });

  it.each([
    ["no header", {}],
    ["an empty one", headers("")],
    ["the scheme alone", headers("Bearer")],
    ["a space behind it", headers("Bearer ")],
    ["another scheme", headers("Basic amFuZTpqYW5l")],
  ])("takes %s for no credential", async (_what, given) => {
    expect(await authenticate(given)).toBe(undefined);
  });

  it("refuses two headers, even if one is valid", async () => {
    const key = await newKey();
    const request = requestWith({}).with({ headers: { authorization: [`Bearer ${key}`, "Bearer x"] } });
    expect(() => server.authenticator.authenticate(request)).toThrow(ACCESS_KEY_NOT_FOUND);
  });

  const requestWith = (given: { readonly [name: string]: string }) =>
    createRequestContext({ url: "/", headers: given }).request;
  const authenticate = async (given: { readonly [name: string]: string }) =>
    await server.authenticator.authenticate(requestWith(given));
  const refusalOf = (given: { readonly [name: string]: string }) =>
    authenticate(given).then(
      () => undefined,
      (error: unknown) => error,
    );
});

describe("soon after a start", () => {
  it("callers with their own key are answered at once, all others after all keys have been read", async () => {
    const key = await newKey({ user: "jane", scope: {} });
    const child = await newKey({ user: "jane", scope: {} }, "child", key);
    for (let number = 0; number < 200; number++) await newKey({ user: "jane" }, `other-${number}`);

    await using again = await createAccessKeyServer({ storage: server.storage });
    const ask = (value: string) => {
      const headers = { authorization: `Bearer ${value}` };
      return again.authenticator.authenticate(createRequestContext({ url: "/", headers }).request);
    };
    const unknown = [ask("pst_aaaaaaaaaa_x"), ask(`${key}x`), ask("of another product")].map(async (asked) => {
      expect(asked).toBeInstanceOf(Promise);
      await expect(asked).rejects.toThrow(ACCESS_KEY_NOT_FOUND);
    });
    const inherited = ask(child);
    expect(inherited).toBeInstanceOf(Promise);
    expect(ask(key)).toMatchObject({ user: { name: "jane@example.test" } });
    expect(again.keys.whenFound(key)).toBe(undefined);
    // Nothing but that key has been read for it.
    expect(again.keys.whenFound("pst_aaaaaaaaaa_x")).toBeInstanceOf(Promise);
    await Promise.all(unknown);
    expect(await inherited).toMatchObject({ user: { name: "jane@example.test" } });
    expect([ask(child), ask(key)]).not.toContainEqual(expect.any(Promise));
  });
});

describe("a key becomes invalid (security book 13, 15)", () => {
  const ways: readonly [string, () => Promise<unknown> | undefined, string][] = [
    ["disabled", () => patch("ownedaccesskeys/k", { spec: { disabled: true } }), "disabled"],
    ["deleted", () => remove("ownedaccesskeys/k"), "unknown"],
    ["expired", () => void server.time.advance(60_000), "expired"],
    [
      "rotated",
      () => patch("ownedaccesskeys/k", { spec: { key: "Qm3xZ9tLr6Wc1VbN8sKd4YgH7jPf2aUe5oEi0wBt" } }),
      "replaced by a rotation",
    ],
    ["its user locked", () => patch("users/jane", { spec: { disabled: true } }), "its user is locked"],
    ["its user deleted", () => remove("users/jane"), "its user does not exist"],
    ["deleted, but held by a finalizer", () => held("ownedaccesskeys/k"), "being deleted"],
    ["its user deleted, but held", () => held("users/jane"), "its user does not exist"],
    ["its parent deleted", () => remove("ownedaccesskeys/parent"), "the key it was created with does not exist"],
    [
      "its parent disabled",
      () => patch("ownedaccesskeys/parent", { spec: { disabled: true } }),
      "the key it was created with is refused: disabled",
    ],
    [
      "its parent narrowed",
      () => patch("ownedaccesskeys/parent", { spec: { scope: { projects: [] } } }),
      "has more permissions than the key it was created with",
    ],
  ];

  it.each(ways)("at once when %s, and closes its open connections", async (_what, revoke, why) => {
    const scope = { projects: [{ project: "a" }] };
    const parent = await newKey({ user: "jane", scope }, "parent");
    const key = await newKey({ user: "jane", scope, ttl: 60 }, "k", parent);
    const { credential } = await server.login(key);
    let cut = 0;
    credential?.onRevoked?.(() => cut++);
    await revoke();
    expect(cut).toBe(1);
    const error = await server.login(key).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(ApiError);
    const { message, cause, code } = error as ApiError;
    expect([code, message]).toEqual([401, ACCESS_KEY_NOT_FOUND]);
    expect((cause as AccessKeyRefusedError).message).toBe(why);
    expect(JSON.stringify((error as ApiError).toStatus())).not.toContain(why);
  });

  it.each([
    ["its scope changed", () => patch("ownedaccesskeys/k", { spec: { scope: {} } })],
    ["its groups changed", () => patch("ownedaccesskeys/k", { spec: { groups: ["x"] } })],
    ["its user left a team", () => patch("teams/devs", { spec: { users: [] } })],
  ])("is cut, but lives on, when %s", async (_what, change) => {
    const key = await newKey();
    const { credential } = await server.login(key);
    let cut = 0;
    credential?.onRevoked?.(() => cut++);
    await change();
    expect(cut).toBe(1);
    await server.login(key);
  });

  it("keeps its connections after unrelated changes", async () => {
    const { credential } = await server.login(await newKey());
    let cut = 0;
    const watch = credential?.onRevoked?.(() => cut++);
    await patch("ownedaccesskeys/k", { spec: { displayName: "x" } });
    await put("users", "joe", {});
    watch?.[Symbol.dispose]();
    await remove("ownedaccesskeys/k");
    expect(cut).toBe(0);
  });

  it("calls back for a key that is dead already", async () => {
    await new Promise<void>((resolve) => server.keys.onRevoked("unknown", resolve));
  });

  it("lives again when its user is unlocked", async () => {
    const key = await newKey();
    await patch("users/jane", { spec: { disabled: true } });
    await expect(server.login(key)).rejects.toThrow(ACCESS_KEY_NOT_FOUND);
    await patch("users/jane", { spec: { disabled: false } });
    await server.login(key);
  });

  it("is not inherited by a later user of the same name (security book 11)", async () => {
    const key = await newKey();
    await remove("users/jane");
    await put("users", "jane", {});
    await expect(server.login(key)).rejects.toThrow(ACCESS_KEY_NOT_FOUND);
  });

  it("holds whatever the clock does (security book 14)", async () => {
    const key = await newKey({ user: "jane", ttl: 60 });
    const start = server.time.clock.now();
    for (const [offset, good] of [
      [-1e12, true],
      [59_999, true],
      [60_000, false],
      [1e13, false],
    ] as const) {
      server.time.setTimeOfDay(start + offset);
      const outcome = await server.login(key).then(
        () => true,
        () => false,
      );
      expect([offset, outcome]).toEqual([offset, good]);
    }
  });

  it("does not begin again when the clock is set back (security book 14)", async () => {
    const key = await newKey({ user: "jane", ttl: 60 });
    const before = server.time.clock.now();
    server.time.advance(30_000);
    server.time.setTimeOfDay(before - 5 * HOUR_MS);
    await server.login(key);
    server.time.advance(29_999);
    await server.login(key);
    server.time.advance(1);
    await expect(server.login(key)).rejects.toThrow(ACCESS_KEY_NOT_FOUND);
    // Also if it is written again; a new record starts from now.
    expect((await patch("ownedaccesskeys/k", { metadata: { labels: { a: "b" } } })).status).toBe(200);
    await expect(server.login(key)).rejects.toThrow(ACCESS_KEY_NOT_FOUND);
    await remove("ownedaccesskeys/k");
    const next = await newKey({ user: "jane", ttl: 60 });
    server.time.advance(59_999);
    await server.login(next);
    server.time.advance(1);
    await expect(server.login(next)).rejects.toThrow(ACCESS_KEY_NOT_FOUND);
  });

  it("lives by its use whatever is done to the clock, and ends without it", async () => {
    const key = await newKey({ user: "jane", ttl: 60, ttlAfterLastActivity: true });
    await server.login(key);
    server.time.setTimeOfDay(server.time.clock.now() - 5 * HOUR_MS);
    for (let use = 0; use < 5; use++) {
      server.time.advance(50_000);
      await server.login(key);
    }
    server.time.advance(60_000);
    await expect(server.login(key)).rejects.toThrow(ACCESS_KEY_NOT_FOUND);
  });

  it("closes its connections within ten seconds when the clock is set past its expiration", async () => {
    const key = await newKey({ user: "jane", ttl: 3600 });
    const { credential } = await server.login(key);
    let cut = 0;
    credential?.onRevoked?.(() => cut++);
    server.time.advance(5_000);
    server.time.setTimeOfDay(server.time.clock.now() + HOUR_MS);
    await expect(server.login(key)).rejects.toThrow(ACCESS_KEY_NOT_FOUND);
    server.time.advance(10_000);
    expect(cut).toBe(1);
  });

  it("counts from the last use where configured, and leaves no timer behind", async () => {
    const key = await newKey({ user: "jane", ttl: 60, ttlAfterLastActivity: true });
    const { credential } = await server.login(key);
    let cut = 0;
    const watch = credential?.onRevoked?.(() => cut++);
    for (let minute = 0; minute < 10; minute++) {
      server.time.advance(45_000);
      await server.login(key);
    }
    expect(cut).toBe(0);
    server.time.advance(60_000);
    expect(cut).toBe(1);
    watch?.[Symbol.dispose]();
    expect(server.time.waiting).toBe(0);
  });
});

describe("the settings", () => {
  const lifeOf = async (accessKeys: object, spec: object): Promise<number | undefined> => {
    await server[Symbol.asyncDispose]();
    server = await createAccessKeyServer({ accessKeys });
    await put("users", "jane", {});
    await newKey({ user: "jane", ...spec });
    const end = server.keys.byName("k")?.expiresAt;
    return end === undefined ? undefined : (end - server.time.clock.now()) / 1000;
  };

  it.each([
    [{}, {}, undefined],
    [{}, { ttl: 0 }, undefined],
    [{ maxTTLSeconds: 100 }, {}, 100],
    [{ maxTTLSeconds: 100 }, { ttl: 0 }, 100],
    [{ maxTTLSeconds: 100 }, { ttl: 500 }, 100],
    [{ maxTTLSeconds: 100 }, { ttl: 5 }, 5],
    [{ defaultTTLSeconds: 50 }, {}, 50],
    [{ defaultTTLSeconds: 50 }, { ttl: 0 }, undefined],
    [{ defaultTTLSeconds: 50, maxTTLSeconds: 100 }, {}, 50],
    [{ defaultTTLSeconds: 50, machineDefaultTTLSeconds: 0 }, { user: undefined, subject: "robot" }, undefined],
    [{ defaultTTLSeconds: 50, machineDefaultTTLSeconds: 20 }, { user: undefined, subject: "robot" }, 20],
    [{ defaultTTLSeconds: 50, machineDefaultTTLSeconds: 20 }, {}, 50],
  ])("%j give %j a life of %s seconds", async (settings, spec, seconds) => {
    expect(await lifeOf(settings, spec)).toBe(seconds);
  });
});

it("names are compared exactly (security book 7)", async () => {
  const key: Authentication = await server.login(await newKey());
  for (const name of ["Jane@example.test", "jane@example.test ", "ｊane@example.test"]) {
    expect(server.directory.userBySubject(name)).toBe(undefined);
  }
  expect(server.directory.userBySubject(key.user.name)?.name).toBe("jane");
});

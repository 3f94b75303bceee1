// Self: the login of existing clients, and introspection.

import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ACCESS_KEY_NOT_FOUND } from "../../../access-keys/access-key-refusal.ts";
import { type AccessKeyServer, createAccessKeyServer } from "../../../access-keys/testing/access-key-server.ts";

const admin = { name: "root", groups: ["system:masters", "system:authenticated"] };

let server: AccessKeyServer;

beforeEach(async () => {
  server = await createAccessKeyServer({
    domain: "loft.sh",
    allows: ({ verb, resource, user }) =>
      verb === "introspect" && resource === "selves" && user.name === "loft:vcluster:p-a:v",
  });
  await put("users", "admin", { displayName: "Admin", email: "a@b.test" });
  await put("teams", "devs", { displayName: "Devs", users: ["admin"] });
});

afterEach(() => server[Symbol.asyncDispose]());

const put = (url: string, name: string, spec: object) =>
  server.send({ method: "POST", url, user: admin, body: { metadata: { name }, spec } });

async function login(spec: object, name = "k"): Promise<Authentication & { readonly key: string }> {
  const { key } = (await put("ownedaccesskeys", name, spec)).body.spec;
  return { ...(await server.login(key)), key };
}

const ask = (as: Authentication | undefined, spec: object = {}) =>
  server.send({
    method: "POST",
    url: "selves",
    ...(as === undefined ? { user: admin } : { as }),
    body: { kind: "Self", apiVersion: "management.loft.sh/v1", metadata: {}, spec, status: {} },
  });

describe("selves", () => {
  it("reports a user's identity in the form that existing clients expect", async () => {
    const { status, body } = await ask(await login({ user: "admin", type: "User" }, "my-access-key"));
    expect(status).toBe(201);
    expect(body).toMatchObject({ kind: "Self", apiVersion: "management.loft.sh/v1", spec: {} });
    expect(body.status).toEqual({
      user: {
        name: "admin",
        username: "admin",
        displayName: "Admin",
        email: "a@b.test",
        subject: "admin",
        teams: [{ name: "devs", displayName: "Devs" }],
      },
      accessKey: "my-access-key",
      accessKeyType: "User",
      subject: "admin",
      uid: server.directory.user("admin")?.uid,
      groups: ["system:authenticated", "loft:authenticated", "loft:user:admin", "loft:team:devs"],
      loftHost: "test.invalid",
      projectNamespacePrefix: "p-",
    });
  });

  it("reports the identity of a team and a subject", async () => {
    expect((await ask(await login({ team: "devs" }))).body.status).toMatchObject({
      team: { name: "devs", displayName: "Devs" },
      subject: "loft:team:devs",
    });
    const robot = (await ask(await login({ subject: "robot" }, "r"))).body.status;
    expect(robot).toMatchObject({ subject: "robot", accessKey: "r", accessKeyType: "" });
    expect([robot.user, robot.team]).toEqual([undefined, undefined]);
  });

  it("reports the expiry of a key, also of one with a scope", async () => {
    const ends = await ask(await login({ user: "admin", ttl: 60, scope: {} }));
    const at = Date.parse(ends.body.status.accessKeyExpirationTimestamp);
    expect(at - server.time.clock.now()).toBeGreaterThan(58_000);
    expect(at - server.time.clock.now()).toBeLessThanOrEqual(60_000);
  });

  it("shows the scope as it was written", async () => {
    const scope = { allowLoftCli: true, projects: [{ project: "a" }] };
    expect((await ask(await login({ user: "admin", scope }))).body.status.accessKeyScope).toEqual(scope);
  });
});

describe("introspection", () => {
  it("reports the owner of a key to a virtual cluster, and never repeats the key", async () => {
    const cluster = await login({ subject: "loft:vcluster:p-a:v", scope: { roles: [{ role: "vcluster" }] } });
    const { key } = await login({ user: "admin" }, "theirs");
    const { status, text, body } = await ask(cluster, { accessKey: key });
    expect([status, body.status.subject, body.status.accessKey]).toEqual([201, "admin", "theirs"]);
    expect(text).not.toContain(key);
  });

  it.each(["unknown", "disabled", "expired"])("answers 401 for a key that is %s, in the same words", async (why) => {
    const { key } = await login({ user: "admin", ttl: 60 }, "dead");
    if (why === "disabled") {
      const { body } = await server.send({ url: "ownedaccesskeys/dead", user: admin });
      const changed = { ...body, spec: { ...body.spec, disabled: true } };
      await server.send({ method: "PUT", url: "ownedaccesskeys/dead", user: admin, body: changed });
    }
    if (why === "expired") server.time.advance(60_000);
    const answer = await ask(undefined, { accessKey: why === "unknown" ? "unknown" : key });
    expect(answer.status).toBe(401);
    expect(answer.body).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: ACCESS_KEY_NOT_FOUND,
      reason: "Unauthorized",
      code: 401,
    });
  });

  it("is refused to other callers without details, except for their own keys", async () => {
    const own = await login({ user: "admin" });
    const { key } = await login({ team: "devs" }, "theirs");
    const [there, absent] = [await ask(own, { accessKey: key }), await ask(own, { accessKey: "x" })];
    expect(there.status).toBe(403);
    expect(there.text).toBe(absent.text);
    expect((await ask(own, { accessKey: own.key })).status).toBe(201);
  });
});

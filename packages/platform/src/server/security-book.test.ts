import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PlatformCall, type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

const INSIDE = "/kubernetes/project/default/virtualcluster/demo";
const GROUP = "/apis/management.postern/v1";

describe("over the whole server", () => {
  let platform: RunningPlatform;
  beforeAll(async () => {
    platform = await startPlatform();
    for (const name of ["jane", "eve"]) {
      await platform.send({ method: "POST", path: "users", body: { metadata: { name }, spec: {} } });
    }
    await platform.send({
      method: "PATCH",
      path: "projects/default",
      body: { spec: { members: [{ kind: "User", name: "jane", clusterRole: "postern:project-user" }] } },
    });
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  const create = async (name: string, spec: object) =>
    await platform.send({ method: "POST", path: "ownedaccesskeys", body: { metadata: { name }, spec } });

  it("labels, annotations and owner references give no permissions (security book 10)", async () => {
    const admin = (await platform.send({ path: "ownedaccesskeys" })).body.items[0].metadata;
    const eve = (await create("eves", { user: "eve" })).body.spec.key;
    const reference = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", name: admin.name, uid: admin.uid };
    const made = await platform.send({
      method: "POST",
      path: "ownedaccesskeys",
      key: eve,
      body: {
        metadata: {
          name: "injected",
          labels: { "postern/user": "admin" },
          annotations: { "postern/owner": "admin" },
          ownerReferences: [reference],
        },
        spec: {},
        status: { lastActivity: "2020-01-01T00:00:00Z" },
      },
    });
    expect(made.body.spec.user).toBe("eve");
    expect(made.body.status?.lastActivity).toBe(undefined);
    const { key } = made.body.spec;
    const self = await platform.send({ method: "POST", path: "selves", key, body: {} });
    expect([self.body.status.user.name, self.body.status.groups.includes("postern:admins")]).toEqual(["eve", false]);
    expect((await platform.send({ path: "/api/v1/secrets", key })).status).toBe(403);
  });

  it("a locked user is locked at every door (security book 17)", async () => {
    const { key } = (await create("janes", { user: "jane" })).body.spec;
    const doors: readonly PlatformCall[] = [
      { path: `${GROUP}/projects` },
      { path: `/kubernetes/management${GROUP}/projects` },
      { path: `${INSIDE}/api/v1/namespaces` },
      { path: `${INSIDE}/version` },
      { path: "/version" },
      { path: "/apis" },
      { path: "/openapi/v2" },
      { method: "POST", path: `${GROUP}/selves`, body: {} },
      {
        method: "POST",
        path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        body: { spec: { namespace: "default" } },
      },
      { method: "POST", path: `${GROUP}/namespaces/p-default/virtualclusterinstances/demo/kubeconfig`, body: {} },
    ];
    const statuses = async () => {
      const found: number[] = [];
      for (const door of doors) found.push((await platform.send({ ...door, key })).status);
      return found;
    };
    expect((await statuses()).every((status) => status < 300)).toBe(true);
    await platform.send({ method: "PATCH", path: "users/jane", body: { spec: { disabled: true } } });
    expect(await statuses()).toEqual(doors.map(() => 401));
    const review = await platform.send({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/tokenreviews",
      body: { spec: { token: key } },
    });
    expect(review.body.status.authenticated).not.toBe(true);
  });

  it("only administrators start or take over a change of the key ring (security book 52)", async () => {
    const ring = async () => (await platform.send({ path: "/keyring" })).body.keys.map(({ id }: any) => id);
    const rotate = (key: string) =>
      platform.send({ method: "POST", path: "/keyring", key, body: { action: "rotate" } });
    const before = await ring();
    const ofEve = (await create("eves-own", { user: "eve" })).body.spec.key;
    const narrowed = (await create("narrowed", { user: "admin", scope: { projects: [{ project: "*" }] } })).body.spec
      .key;
    const reading = (await create("reading", { user: "admin", rules: [{ verbs: ["get"] }] })).body.spec.key;
    for (const key of ["", "x", ofEve, narrowed, reading]) expect([401, 403]).toContain((await rotate(key)).status);
    expect(await ring()).toEqual(before);
    expect((await rotate(platform.adminKey)).status).toBe(200);
    const begun = await ring();
    expect(begun).toHaveLength(before.length + 1);
    for (const key of ["", ofEve, narrowed, reading]) expect([401, 403]).toContain((await rotate(key)).status);
    expect(await ring()).toEqual(begun);
  });

  it("only the owner of a key ends the grace period of its rotation (security book 52)", async () => {
    const first = (await create("in-grace", { user: "admin" })).body.spec.key;
    const ofEve = (await create("eves-other", { user: "eve" })).body.spec.key;
    const rotate = (nonce: string, key?: string) => {
      const body = { spec: { nonce, gracePeriodSeconds: nonce === "mine" ? 3600 : 0 } };
      return platform.send({ method: "POST", path: "ownedaccesskeys/in-grace/rotate", key, body });
    };
    expect((await rotate("mine")).status).toBe(201);
    const attempts: readonly PlatformCall[] = [
      {
        method: "PATCH",
        path: "ownedaccesskeys/in-grace",
        body: { spec: { key: "a-value-of-its-own-that-is-long-enough-7403" } },
      },
      { method: "PATCH", path: "ownedaccesskeys/in-grace", body: { spec: { disabled: true } } },
      { method: "DELETE", path: "ownedaccesskeys/in-grace" },
    ];
    for (const key of ["", ofEve]) {
      expect([401, 403, 404]).toContain((await rotate("theirs", key)).status);
      for (const attempt of attempts)
        expect([401, 403, 404]).toContain((await platform.send({ ...attempt, key })).status);
    }
    expect((await platform.send({ path: "projects", key: first })).status).toBe(200);
  });

  it("errors do not repeat secrets of the body (security book 39)", async () => {
    const secret = "canary-value-of-more-than-32-characters";
    await create("plain", {});
    const as = (type: string) => ({ "content-type": `application/${type}` });
    const post = (body: unknown, path = "ownedaccesskeys"): PlatformCall => ({ method: "POST", path, body });
    const patch = (body: unknown, headers = {}): PlatformCall => ({
      method: "PATCH",
      path: "ownedaccesskeys/plain",
      body,
      headers,
    });
    const attempts: readonly PlatformCall[] = [
      post(`{"spec":{"key":"${secret}"`),
      post(`{"spec":{"key":["${secret}"]}}`),
      post({ spec: { key: secret, ttl: -1 } }),
      post({ spec: { key: secret, scope: { roles: [{ role: "no" }] } } }),
      post({ metadata: { annotations: { a: secret } }, spec: { key: secret } }),
      { ...post(`apiVersion: [\nkey: ${secret}`), headers: as("yaml") },
      patch(
        `[{"op":"add","path":"/spec/key","value":"${secret}"},{"op":"remove","path":"/spec/none"}]`,
        as("json-patch+json"),
      ),
      patch(`[{"op":"test","path":"/spec/user","value":"${secret}"}]`, as("json-patch+json")),
      patch({ spec: { key: secret, identity: { connectorData: `${secret}!` } } }),
      post({ spec: { nonce: secret.repeat(9) } }, "ownedaccesskeys/plain/rotate"),
      post(`{"spec":{"nonce":"${secret}","gracePeriodSeconds":"${secret}"}}`, "ownedaccesskeys/plain/rotate"),
    ];
    const before = (await platform.send({ path: "ownedaccesskeys" })).body.items.length;
    for (const attempt of attempts) {
      const { status, text } = await platform.send(attempt);
      expect([attempt.body, status >= 400 && status < 500, text.includes(secret)]).toEqual([attempt.body, true, false]);
    }
    expect((await platform.send({ path: "ownedaccesskeys" })).body.items).toHaveLength(before);
  });
});

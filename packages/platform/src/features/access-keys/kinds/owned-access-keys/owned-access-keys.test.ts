// Access keys from the request to the stored bytes: real registry, store, cache and index.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRequestContext } from "../../../../testing/request-context.ts";
import type { AccessKeyServer } from "../../testing/access-key-server.ts";
import { admin, createKeyCallers, jane, joe, keyRequests, OWN_VALUE, refused } from "../../testing/key-callers.ts";

let server: AccessKeyServer;

beforeEach(async () => {
  server = await createKeyCallers();
});

afterEach(() => server[Symbol.asyncDispose]());

const { create, patch } = keyRequests(() => server);
const get = (name = "ci", as = jane) => server.send({ url: `ownedaccesskeys/${name}`, user: as });

describe("creating", () => {
  it("shows the key once, in the answer, and never again", async () => {
    const created = await create({ displayName: "CI" });
    expect(created.status).toBe(201);
    const { key } = created.body.spec;
    expect(key).toMatch(/^pst_[a-z2-7]{10}_[0-9A-Za-z]{49}$/);
    expect(created.body.spec.user).toBe("jane");
    const list = await server.send({ url: "ownedaccesskeys", user: jane });
    const table = await server.send({
      url: "ownedaccesskeys",
      user: jane,
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    for (const { text } of [await get(), list, table, await patch({ spec: { description: "x" } })]) {
      expect(text).not.toContain(key);
    }
    expect((await server.login(key)).user.name).toBe("jane");
  });

  it("reveals nothing in a dry run, which leaves nothing behind", async () => {
    const before = await server.dump();
    const { status, body } = await create({}, { query: "?dryRun=All" });
    expect(status).toBe(201);
    expect(body.spec.key).toBe(undefined);
    expect(await server.dump()).toBe(before);
  });

  it("makes a name where there is none", async () => {
    const { status, body } = await server.send({
      method: "POST",
      url: "ownedaccesskeys",
      user: jane,
      body: { spec: {} },
    });
    expect(status).toBe(201);
    expect(body.metadata.name).toMatch(/^key-[a-z0-9]{5}$/);
  });

  it("takes a value of the client's and finds it by its digest", async () => {
    const { body } = await create({ key: OWN_VALUE });
    expect(body.spec.key).toBe(OWN_VALUE);
    expect((await server.login(OWN_VALUE)).user.name).toBe("jane");
    expect(await server.dump()).not.toContain(OWN_VALUE);
  });

  it("answers an apply that creates without the key", async () => {
    const { status, body } = await server.send({
      method: "PATCH",
      url: "ownedaccesskeys/applied?fieldManager=me",
      headers: { "content-type": "application/apply-patch+yaml" },
      user: jane,
      body: { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name: "applied" }, spec: {} },
    });
    expect([status, body.spec]).toEqual([201, { user: "jane" }]);
  });

  it.each([
    [{ key: "short" }, "spec.key", /at least 32 characters/],
    [{ key: `${OWN_VALUE} with spaces` }, "spec.key", /visible ASCII/],
    [{ user: "jane", team: "devs" }, "spec", /only one of user, team and subject/],
    [{ groups: ["system:masters"] }, "spec.groups[0]", /reserved/],
    [{ groups: [" System:masters"] }, "spec.groups[0]", /reserved/],
    [{ type: "Robot" }, "spec.type", /supported values: .*"Login", "User"/],
    [{ ttl: -1 }, "spec.ttl", /greater than or equal to 0/],
    [{ ttl: 1e12 }, "spec.ttl", /less than or equal to/],
    [{ scope: { roles: [{ role: "root" }] } }, "spec.scope.roles[0].role", /"agent", "vcluster", .*"platform-cli"/],
    [{ scope: { projects: [{ project: "p*" }] } }, "spec.scope.projects[0].project", /whole value/],
    [{ scope: { virtualClusters: [{ project: "p" }] } }, "spec.scope.virtualClusters[0].virtualCluster", /Required/],
    [{ rules: [{ requestTargets: ["Moon"] }] }, "spec.rules[0].requestTargets[0]", /"Management", "Cluster"/],
    [{ rules: [{ resources: [{ resources: ["*", "pods"] }] }] }, "spec.rules[0].resources[0].resources[1]", /overlap/],
    [{ rules: [{ resources: [{ resourceNames: ["a"] }] }] }, "spec.rules[0].resources[0].resourceNames", /requires/],
    [{ rules: [{ nonResourceURLs: ["/a*"] }] }, "spec.rules[0].nonResourceURLs[0]", /last step/],
    [{ identity: { connectorData: "?secret?" } }, "spec.identity.connectorData", /must be base64/],
    [{ identity: { identityRefresh: "today" } }, "spec.identity.identityRefresh", /date-time/],
    [{ subject: "system:admin" }, "spec.subject", /reserved/],
    [{ subject: "jane" }, "spec.subject", /use spec.user instead/],
    [{ subject: "postern:team:devs" }, "spec.subject", /use spec.team instead/],
    [{ user: "nobody" }, "spec.user", /Not found/],
    [{ key: OWN_VALUE, description: `it is ${OWN_VALUE}` }, "spec.description", /must not contain an access key/],
  ])("refuses %j with 422 that names %s", async (spec, field, message) => {
    const before = await server.dump();
    const { status, body, text } = await create(spec, { as: admin });
    expect([status, body.reason]).toEqual([422, "Invalid"]);
    expect(body.details.causes.map((cause: any) => cause.field)).toContain(field);
    expect(body.message).toMatch(message);
    expect(text).not.toContain("?secret?");
    expect(text).not.toContain(OWN_VALUE);
    expect(await server.dump()).toBe(before);
  });

  it("warns of deprecated fields and takes aliases of roles", async () => {
    const { status, warnings } = await create({
      allowPlatformCli: true,
      parent: "x",
      rules: [{ verbs: ["get"] }],
      scope: { roles: [{ role: "postern-cli" }, { role: "posternCLI" }], allowPosternCli: true },
      oidcLogin: { lastRefresh: null },
    });
    expect(status).toBe(201);
    expect(warnings).toEqual(
      expect.arrayContaining([
        "spec.allowPlatformCli: deprecated; use spec.scope.roles instead",
        "spec.scope.allowPosternCli: deprecated; use spec.scope.roles instead",
        expect.stringMatching(/^spec\.rules: deprecated; use spec\.scope\.projects/),
      ]),
    );
    expect(server.keys.byName("ci")?.restrictions?.scope?.roles.map(({ role }) => role)).toEqual([
      "platform-cli",
      "platform-cli",
      "platform-cli",
    ]);
  });
});

describe("updating", () => {
  it("keeps the key that is absent or empty, and a write that changes nothing writes nothing", async () => {
    const { key } = (await create({ key: OWN_VALUE, identity: { connectorData: "c2VjcmV0" } })).body.spec;
    const stored = (await get()).body;
    expect(stored.spec.identity).toEqual({});
    const put = await server.send({ method: "PUT", url: "ownedaccesskeys/ci", user: jane, body: stored });
    expect(put.body.metadata.resourceVersion).toBe(stored.metadata.resourceVersion);
    const again = await patch({ spec: { key } });
    expect(again.body.metadata.resourceVersion).toBe(stored.metadata.resourceVersion);
    await patch({ spec: { key: "", displayName: "x" } });
    expect((await server.login(key)).user.name).toBe("jane");
  });

  it("rotates: the old value is refused and its connections are closed, the new one is valid", async () => {
    const { key } = (await create({})).body.spec;
    const { credential } = await server.login(key);
    let cut = 0;
    credential?.onRevoked?.(() => cut++);
    const { body } = await patch({ spec: { key: OWN_VALUE } });
    expect(body.spec.key).toBe(undefined);
    await expect(server.login(key)).rejects.toMatchObject(refused);
    expect((await server.login(OWN_VALUE)).credential?.id).not.toBe(credential?.id);
    expect(cut).toBe(1);
  });

  it("leaves the status alone", async () => {
    await create({ ttl: 60 });
    const { body } = await patch({ status: { lastActivity: "2030-01-01T00:00:00Z" } });
    expect(body.status).toEqual({ expirationTimestamp: "2026-01-01T00:01:00Z", conditions: [expect.anything()] });
  });

  it("gives no field manager the key or the status", async () => {
    await create({ key: OWN_VALUE, displayName: "x" });
    await patch({ status: { lastActivity: "2030-01-01T00:00:00Z" }, spec: { description: "y" } });
    const { managedFields } = (await server.send({ url: "ownedaccesskeys/ci", user: jane })).body.metadata;
    expect(JSON.stringify(managedFields)).toContain("f:displayName");
    expect(JSON.stringify(managedFields)).not.toMatch(/f:key|f:status/);
  });

  it("the annotation of kubectl apply is stored without the key (security book 38, 40)", async () => {
    const annotation = "kubectl.kubernetes.io/last-applied-configuration";
    const manifest = { kind: "OwnedAccessKey", metadata: { name: "ci" }, spec: { key: OWN_VALUE, displayName: "a" } };
    const metadata = { name: "ci", annotations: { [annotation]: `${JSON.stringify(manifest)}\n`, keep: "me" } };
    const body = { metadata, spec: { key: OWN_VALUE } };
    const created = await server.send({ method: "POST", url: "ownedaccesskeys", user: jane, body });
    expect(JSON.parse(created.body.metadata.annotations[annotation]).spec).toEqual({ displayName: "a" });
    expect(created.body.metadata.annotations.keep).toBe("me");
    await patch({ metadata: { annotations: { [annotation]: `{"spec":{"key":"${OWN_VALUE}"` } } });
    expect((await get()).body.metadata.annotations).toEqual({ keep: "me" });
    expect(await server.dump()).not.toContain(OWN_VALUE);
  });
});

describe("whose keys a caller sees", () => {
  beforeEach(async () => {
    await create({ user: "jane" }, { as: admin, name: "janes" });
    await create({ user: "joe" }, { as: admin, name: "joes" });
    await create({ team: "devs" }, { as: admin, name: "team" });
  });

  const namesFor = async (as: any) =>
    (await server.send({ url: "ownedaccesskeys", user: as })).body.items.map((item: any) => item.metadata.name);

  it("shows its own and its teams', and to administrators all", async () => {
    expect(await namesFor(jane)).toEqual(["janes", "team"]);
    expect(await namesFor(joe)).toEqual(["joes"]);
    expect(await namesFor(admin)).toEqual(["janes", "joes", "team"]);
  });

  it.each([
    ["get", (name: string) => get(name, joe)],
    ["patch", (name: string) => patch({ spec: { disabled: true } }, { as: joe, name })],
    [
      "update under a uid",
      (name: string) =>
        server.send({
          method: "PUT",
          url: `ownedaccesskeys/${name}`,
          user: joe,
          body: { metadata: { name, uid: "guess" }, spec: {} },
        }),
    ],
    ["delete", (name: string) => server.send({ method: "DELETE", url: `ownedaccesskeys/${name}`, user: joe })],
  ])("%s on another user's key is answered like a missing one (security book 5, 42)", async (_verb, call) => {
    const [there, absent] = [await call("janes"), await call("absen")];
    expect([404, 409]).toContain(there.status);
    expect(there.text.replaceAll("janes", "absen")).toBe(absent.text);
    expect((await get("janes", admin)).body.spec.disabled).toBe(undefined);
  });

  it("watches only these, and ends when the caller's teams change (security book 3)", async () => {
    const seen: string[] = [];
    const context = createRequestContext({ url: "/apis/management.postern/v1/ownedaccesskeys?watch=1", user: jane });
    const query = { namespace: "", resourceVersion: "0", allowWatchBookmarks: false, sendInitialEvents: undefined };
    const ended = new Promise<Error>((resolve) => {
      void server.ownedAccessKeyResource.servedStore.watch?.(context, query, {
        initialState: (read) => {
          for (let page = read(1 << 20); page !== undefined; page = read(1 << 20))
            if (!(page instanceof Promise))
              seen.push(...page.map((object) => `ADDED ${object.decode().metadata.name}`));
        },
        event: (type, object) => seen.push(`${type} ${object.decode().metadata.name}`),
        initialEventsEnd: () => {},
        progress: () => {},
        error: resolve,
      });
    });
    await patch({ spec: { displayName: "x" } }, { as: admin, name: "joes" });
    await patch({ spec: { displayName: "x" } }, { as: admin, name: "janes" });
    // It belongs to another owner from now on, as if it were deleted.
    await patch({ spec: { user: "joe" } }, { as: admin, name: "janes" });
    await server.send({
      method: "PATCH",
      url: "teams/devs",
      headers: { "content-type": "application/merge-patch+json" },
      user: admin,
      body: { spec: { users: [] } },
    });
    expect(await ended).toMatchObject({ code: 410, reason: "Expired" });
    expect(seen).toEqual(["ADDED janes", "ADDED team", "MODIFIED janes", "DELETED janes"]);
  });

  it("deletes only the caller's own keys of a collection", async () => {
    await server.send({ method: "DELETE", url: "ownedaccesskeys", user: joe });
    expect(await namesFor(admin)).toEqual(["janes", "team"]);
  });

  it("serves the same records to administrators as accesskeys, which make and show no key", async () => {
    const url = "/apis/storage.postern/v1/accesskeys";
    const { items, kind } = (await server.send({ url, user: admin })).body;
    expect([kind, items.length]).toEqual(["AccessKeyList", 3]);
    const body = { metadata: { name: "new" }, spec: { user: "joe" } };
    expect((await server.send({ method: "POST", url, user: admin, body })).status).toBe(422);
    const withKey = { ...body, spec: { ...body.spec, key: OWN_VALUE } };
    const created = await server.send({ method: "POST", url, user: admin, body: withKey });
    expect(created.status).toBe(201);
    expect(created.text).not.toContain(OWN_VALUE);
    expect((await server.login(OWN_VALUE)).user.name).toBe("joe");
    expect((await get("new", joe)).body.kind).toBe("OwnedAccessKey");
  });

  it("lists the keys of a user and of a team below them", async () => {
    const users = await server.send({ url: "users/joe/accesskeys", user: admin });
    expect(users.body).toMatchObject({ kind: "UserAccessKeys", metadata: { name: "joe" } });
    expect(users.body.accessKeys.map((key: any) => key.metadata.name)).toEqual(["joes"]);
    const teams = await server.send({ url: "teams/devs/accesskeys", user: admin });
    expect(teams.body.accessKeys.map((key: any) => key.metadata.name)).toEqual(["team"]);
    expect((await server.send({ url: "users/nobody/accesskeys", user: admin })).status).toBe(404);
  });
});

describe("events", () => {
  it("record the lifecycle of a key", async () => {
    await create({});
    await patch({ spec: { disabled: true } });
    await patch({ spec: { disabled: false } });
    await server.send({ method: "DELETE", url: "ownedaccesskeys/ci", user: jane });
    expect(server.events.map(({ reason }) => reason)).toEqual(["Disabled", "Enabled", "Deleted"]);
  });
});

it("no stored value, answer, event or error ever has a secret in it (security book 38, 41)", async () => {
  const secret = Buffer.from("a-very-secret-refresh-token").toString("base64");
  const answers: string[] = [];
  const note = async <T extends { text: string }>(answer: Promise<T>): Promise<T> => {
    answers.push((await answer).text);
    return await answer;
  };
  const { key } = (await create({ oidcLogin: { refreshToken: secret, idToken: secret } })).body.spec;
  await note(patch({ spec: { identity: { connectorData: secret } } }));
  await note(patch({ spec: { ttl: "no", key } }));
  await note(patch({ spec: { scope: [key] } }));
  await note(patch({ spec: { key: `${key} `, description: key } }));
  for (const spec of [{ description: key }, { key, description: key }, { displayName: `see ${key}` }]) {
    expect((await note(patch({ spec }))).status).toBe(422);
  }
  await note(create({ key: `${key} ` }, { name: "other" }));
  await note(get());
  await note(server.send({ url: "users/jane/accesskeys", user: jane }));
  await note(server.send({ url: "/apis/storage.postern/v1/accesskeys", user: admin }));
  await note(server.send({ method: "POST", url: "selves", user: admin, body: { spec: { accessKey: key } } }));
  await note(server.send({ method: "DELETE", url: "ownedaccesskeys/ci", user: jane }));
  const everything = [...answers, await server.dump(), JSON.stringify(server.events)].join("\n");
  expect(everything).not.toContain(key.slice(15));
  expect(everything).not.toContain(secret);
});

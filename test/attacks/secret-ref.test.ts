// The value of an access key in a Secret: it arrives there with the create and with each rotation, and no caller writes a Secret through a key that
// it could not write itself.

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type PlatformAnswer,
  type RunningPlatform,
  startPlatform,
} from "../../packages/platform/src/testing/running-platform.ts";

const SECRETS = "/api/v1/namespaces/default/secrets";
const RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
const APPLY = { "content-type": "application/apply-patch+yaml" };
const chosen = (): string => randomBytes(32).toString("base64url");
const refTo = (name: string, key?: string) => ({
  namespace: "default",
  name,
  ...(key === undefined ? {} : { key }),
});

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

const secret = (name: string): Promise<PlatformAnswer> => platform.send({ path: `${SECRETS}/${name}` });
const valueIn = async (name: string, key = "key"): Promise<string> =>
  Buffer.from((await secret(name)).body.data[key], "base64").toString();
const works = async (key: string): Promise<boolean> =>
  (await platform.send({ key, path: "selves", body: {} })).status === 201;
const rotate = (name: string, key?: string): Promise<PlatformAnswer> =>
  platform.send({ key, path: `ownedaccesskeys/${name}/rotate`, body: { spec: { nonce: chosen() } } });
const createKey = (name: string, spec: object, key?: string): Promise<PlatformAnswer> =>
  platform.send({ key, path: "ownedaccesskeys", body: { metadata: { name }, spec } });
const apply = (name: string, spec: object): Promise<PlatformAnswer> =>
  platform.send({
    method: "PATCH",
    path: `ownedaccesskeys/${name}?fieldManager=gitops`,
    headers: APPLY,
    body: { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name }, spec },
  });
const gone = async (name: string): Promise<boolean> =>
  (await platform.send({ path: `ownedaccesskeys/${name}` })).status === 404;

/** A user, its key, and verbs on Secrets of the project's namespace. */
async function userWith(name: string, verbs: readonly string[]): Promise<string> {
  await platform.create("users", { metadata: { name }, spec: {} });
  await platform.create(`${RBAC}/roles`, {
    metadata: { name },
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs }],
  });
  await platform.create(`${RBAC}/rolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name }],
  });
  const made = await platform.create("ownedaccesskeys", { metadata: { name: `${name}-login` }, spec: { user: name } });
  return made.spec.key;
}

describe("a key with spec.secretRef", () => {
  it("has its value in a Secret that goes with it, and each new value after it", async () => {
    const created = await createKey("held", { ttl: 3600, secretRef: refTo("held-value", "token") });
    expect(created.status, created.text).toBe(201);
    const first = created.body.spec.key;
    const { body } = await secret("held-value");
    expect(body.type).toBe("Opaque");
    const { uid } = created.body.metadata;
    expect(body.metadata.ownerReferences).toEqual([
      { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", name: "held", uid },
    ]);
    expect(await valueIn("held-value", "token")).toBe(first);

    const rotated = await rotate("held");
    expect([rotated.status, rotated.warnings]).toEqual([201, []]);
    expect(await valueIn("held-value", "token")).toBe(rotated.body.status.key);
    expect(await works(rotated.body.status.key)).toBe(true);

    // Values that others keep in the Secret stay, and a user who sets a value of their own finds it there.
    const merged = { stringData: { note: "mine" } };
    await platform.send({ method: "PATCH", path: `${SECRETS}/held-value`, body: merged });
    const own = chosen();
    const set = { method: "PATCH", path: "ownedaccesskeys/held", body: { spec: { key: own } } };
    expect((await platform.send(set)).status).toBe(200);
    expect(await valueIn("held-value", "token")).toBe(own);
    expect(await valueIn("held-value", "note")).toBe("mine");

    await platform.send({ method: "DELETE", path: `${SECRETS}/held-value` });
    const again = await rotate("held");
    expect(await valueIn("held-value", "token")).toBe(again.body.status.key);

    await platform.send({ method: "DELETE", path: "ownedaccesskeys/held" });
    await platform.until({ path: `${SECRETS}/held-value` }, ({ status }) => status === 404);
  });

  it("is applied without showing the value, which works", async () => {
    const { status, body, warnings, text } = await apply("applied", { ttl: 3600, secretRef: refTo("applied-value") });
    expect([status, warnings], text).toEqual([201, []]);
    expect(body.spec).toEqual({ ttl: 3600, user: "admin", secretRef: refTo("applied-value") });
    expect(await works(await valueIn("applied-value"))).toBe(true);
    const before = await valueIn("applied-value");
    expect((await apply("applied", { ttl: 3600, secretRef: refTo("applied-value") })).status).toBe(200);
    expect(await valueIn("applied-value")).toBe(before);
  });

  it("keeps its place", async () => {
    await createKey("placed", { ttl: 3600, secretRef: refTo("placed-value") });
    for (const secretRef of [refTo("elsewhere"), null]) {
      const moved = { method: "PATCH", path: "ownedaccesskeys/placed", body: { spec: { secretRef } } };
      const { status, text } = await platform.send(moved);
      expect([status, text]).toEqual([422, expect.stringContaining("field is immutable")]);
    }
    await createKey("late", { ttl: 3600 });
    const named = await platform.send({
      method: "PATCH",
      path: "ownedaccesskeys/late",
      body: { spec: { secretRef: refTo("late-value") } },
    });
    expect([named.status, named.warnings]).toEqual([
      200,
      [expect.stringContaining("spec.secretRef: the server stores only a hash")],
    ]);
    expect((await secret("late-value")).status).toBe(404);
    const rotated = await rotate("late");
    expect(await valueIn("late-value")).toBe(rotated.body.status.key);
  });

  it("holds the value in force after rotations at the same time", async () => {
    await createKey("busy", { ttl: 3600, secretRef: refTo("busy-value") });
    const answers = await Promise.all(Array.from({ length: 8 }, () => rotate("busy")));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(await works(await valueIn("busy-value"))).toBe(true);
  });

  it("rotates itself, if its rules allow that and its own Secret", async () => {
    const itself = {
      verbs: ["create"],
      resources: [{ group: "management.postern", resources: ["ownedaccesskeys/rotate"], resourceNames: ["itself"] }],
    };
    const own = { verbs: ["update"], resources: [{ resources: ["secrets"], resourceNames: ["itself-value"] }] };
    const spec = { ttl: 3600, secretRef: refTo("itself-value"), rules: [itself, own] };
    const { body } = await createKey("itself", spec);
    const rotated = await rotate("itself", body.spec.key);
    expect([rotated.status, rotated.warnings], rotated.text).toEqual([201, []]);
    const value = await valueIn("itself-value");
    expect([value, await works(value)]).toEqual([rotated.body.status.key, true]);
    // Making the Secret anew is another right, and so is another Secret.
    await platform.send({ method: "DELETE", path: `${SECRETS}/itself-value` });
    const refused = await rotate("itself", value);
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining("you may not create secrets"),
    ]);
    await platform.create(SECRETS, { metadata: { name: "itself-value" }, data: { key: "AA==" } });
    expect((await rotate("itself", value)).status).toBe(403);
    expect((await secret("itself-value")).body.data).toEqual({ key: "AA==" });
    const elsewhere = await createKey("itself-too", { ...spec, rules: [itself] });
    expect(elsewhere.status).toBe(422);
  });

  it("leaves nothing behind after a dry run", async () => {
    const dry = {
      path: "ownedaccesskeys?dryRun=All",
      body: { metadata: { name: "dry" }, spec: { secretRef: refTo("dry") } },
    };
    expect((await platform.send(dry)).status).toBe(201);
    expect([await gone("dry"), (await secret("dry")).status]).toEqual([true, 404]);
  });
});

describe("a key does not help to write other Secrets", () => {
  it.each(["create", "update"])("with the right to %s Secrets alone", async (verb) => {
    const key = await userWith(`only-${verb}`, [verb, "get"]);
    const answer = await createKey(`by-${verb}`, { secretRef: refTo(`by-${verb}`) }, key);
    expect([answer.status, answer.body.message]).toEqual([403, expect.stringContaining("you may not")]);
    expect([await gone(`by-${verb}`), (await secret(`by-${verb}`)).status]).toEqual([true, 404]);
  });

  it("in another namespace, or in none", async () => {
    const key = await userWith("inside", ["create", "update"]);
    const to = (namespace: string) => ({ secretRef: { namespace, name: "x" } });
    expect((await createKey("to-other", to("postern-system"), key)).status).toBe(403);
    expect((await createKey("to-nowhere", to("nowhere"), key)).status).toBe(403);
    expect((await createKey("to-nowhere", to("nowhere"))).status).toBe(422);
    expect((await createKey("within", { secretRef: refTo("within") }, key)).status).toBe(201);
  });

  it("that was there before", async () => {
    const kept = { metadata: { name: "kubeconfig-of-prod" }, data: { key: "AA==" } };
    await platform.create(SECRETS, kept);
    const marked = { name: "marked", annotations: { "postern/access-key-uid": "" } };
    await platform.create(SECRETS, { metadata: marked, data: { key: "AA==" } });
    for (const name of ["kubeconfig-of-prod", "marked"]) {
      const made = await createKey(`to-${name}`, { secretRef: refTo(name) });
      const applied = await apply(`to-${name}`, { secretRef: refTo(name) });
      for (const { status, text } of [made, applied])
        expect([status, text]).toEqual([422, expect.stringContaining("was not created for this access key")]);
      expect([await gone(`to-${name}`), (await secret(name)).body.data]).toEqual([true, { key: "AA==" }]);
    }
  });

  it("by rotating the key of a team that may", async () => {
    const key = await userWith("rotator", ["get"]);
    const { body } = await createKey("of-rotator", { user: "rotator", ttl: 3600, secretRef: refTo("of-rotator") });
    const before = await valueIn("of-rotator");
    expect((await rotate("of-rotator", key)).status).toBe(403);
    const set = { method: "PATCH", path: "ownedaccesskeys/of-rotator", key, body: { spec: { key: chosen() } } };
    expect((await platform.send(set)).status).toBe(403);
    expect([await valueIn("of-rotator"), await works(body.spec.key)]).toEqual([before, true]);
  });

  it("with a key whose scope does not reach it", async () => {
    const rules = [{ resources: [{ group: "management.postern", resources: ["ownedaccesskeys"] }], verbs: ["*"] }];
    const narrow = await createKey("narrow", { ttl: 3600, scope: { rules } });
    const inner = { ttl: 60, scope: { rules } };
    const made = await createKey("from-narrow", { ...inner, secretRef: refTo("from-narrow") }, narrow.body.spec.key);
    expect([made.status, made.text]).toEqual([403, expect.stringContaining("you may not create secrets")]);
    expect((await createKey("from-narrow", inner, narrow.body.spec.key)).status).toBe(201);
  });

  it("that another key has, at the same time", async () => {
    const names = Array.from({ length: 6 }, (_, index) => `racer-${index}`);
    const answers = await Promise.all(names.map((name) => createKey(name, { ttl: 3600, secretRef: refTo("raced") })));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, 422, 422, 422, 422, 422]);
    // A key whose value is in no Secret is undone.
    expect(await Promise.all(names.map(gone))).toEqual(statuses.map((status) => status !== 201));
    expect(await works(await valueIn("raced"))).toBe(true);
  });

  it.each([
    { name: "x" },
    { namespace: "p-default" },
    { namespace: "p-default", name: "X_" },
    { namespace: "a/b", name: "x" },
    { namespace: "p-default", name: "x", key: "a/b" },
    { namespace: "p-default", name: "x", key: "" },
  ])("under a name that is none: %j", async (secretRef) => {
    expect((await createKey("misnamed", { secretRef })).status).toBe(422);
  });
});

describe("a key without spec.secretRef", () => {
  const lastApplied = { "kubectl.kubernetes.io/last-applied-configuration": "{}" };
  it("is warned of where an apply creates it, from the server", async () => {
    const { status, body, warnings } = await apply("unseen", { ttl: 3600 });
    expect([status, warnings]).toEqual([201, [expect.stringContaining("was not returned")]]);
    expect(body.spec.key).toBeUndefined();
    expect((await apply("unseen", { ttl: 60 })).warnings).toEqual([]);
    expect((await apply("known", { ttl: 3600, key: chosen() })).warnings).toEqual([]);
  });

  it("is warned of where an apply creates it, from the client", async () => {
    const body = { metadata: { name: "printed", annotations: lastApplied }, spec: { ttl: 3600 } };
    const { status, body: made, warnings } = await platform.send({ path: "ownedaccesskeys", body });
    expect([status, warnings]).toEqual([201, [expect.stringContaining("kubectl apply does not print it")]]);
    expect(await works(made.spec.key)).toBe(true);
    expect((await createKey("plain", { ttl: 3600 })).warnings).toEqual([]);
  });
});

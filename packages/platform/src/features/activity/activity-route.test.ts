// Requests over the wire, and the activity of a server after them.

import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";

let platform: RunningPlatform;
let janesKey: string;
beforeAll(async () => {
  platform = await startPlatform({ "audit-log-mode": "blocking" });
  await platform.create("users", { metadata: { name: "jane" } });
  const made = await platform.create("ownedaccesskeys", { metadata: { name: "jane-ci" }, spec: { user: "jane" } });
  janesKey = made.spec.key;
});
afterAll(() => platform[Symbol.asyncDispose]());

const activity = async () => (await platform.send({ path: "/activity" })).body;
const sum = (counts: readonly number[]): number => counts.reduce((all, each) => all + each, 0);

it("is for administrators alone", async () => {
  for (const key of [janesKey, ""]) expect((await platform.send({ path: "/activity", key })).status).toBe(403);
  expect((await platform.send({ path: "/activity", method: "POST", body: {} })).status).toBe(405);
});

it("counts requests and refusals, with the keys that sent them, also where the key itself is refused", async () => {
  const before = await activity();
  for (let times = 0; times < 12; times++) await platform.send({ path: "clustertrustrules", key: janesKey });
  await platform.send({ path: "projects", key: "pst_none_at_all" });
  const after = await activity();
  expect(sum(after.refused) - sum(before.refused)).toBe(13);
  expect(sum(after.requests) - sum(before.requests)).toBe(14);
  const refused = after.refusedKeys.find(({ name }: any) => name === "jane-ci");
  expect(refused).toMatchObject({ owner: "jane" });
  expect(after.used.find(({ name }: any) => name === "jane-ci").count).toBe(refused.count);
  await platform.send({ method: "PATCH", path: "ownedaccesskeys/jane-ci", body: { spec: { disabled: true } } });
  expect((await platform.send({ path: "projects", key: janesKey })).status).toBe(401);
  const last = (await activity()).refusedKeys.find(({ name }: any) => name === "jane-ci");
  expect(last.count).toBe(refused.count + 1);
});

it("has the changes of objects, without questions, dry runs and what was refused", async () => {
  await platform.create("projects", { metadata: { name: "shop" }, spec: {} });
  await platform.create("projects?dryRun=All", { metadata: { name: "never" }, spec: {} });
  await platform.send({ path: "projects", body: { metadata: { name: "Not a name" } } });
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: {} },
  };
  await platform.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review);
  const { changes } = await activity();
  expect(changes[0]).toMatchObject({ user: "admin", verb: "create", resource: "projects", name: "shop", key: "admin" });
  expect(changes.map(({ resource, verb }: any) => `${verb} ${resource}`).slice(0, 3)).toEqual([
    "create projects",
    "patch ownedaccesskeys",
    "create ownedaccesskeys",
  ]);
});

it("remembers that monitoring has read the metrics", async () => {
  expect((await activity()).alerts).toEqual({ webhook: false });
  await platform.send({ path: "/metrics" });
  expect((await activity()).alerts.metricsReadAt).toMatch(/^20\d\d-/);
});

it("counts watches while they are open", async () => {
  const watch = await platform.open({ path: "projects?watch=true&timeoutSeconds=1" });
  expect((await activity()).openWatches).toBe(1);
  await watch.ended;
  await platform.until({ path: "/activity" }, ({ body }) => body.openWatches === 0);
  expect(Math.max(...(await activity()).watches)).toBe(1);
});

it("names the user and the virtual cluster of a client certificate", async () => {
  const demo = "namespaces/p-default/virtualclusterinstances/demo";
  const { body } = await platform.send({ path: `${demo}/kubeconfig`, body: { spec: { clientCert: true } } });
  const { user } = parse(body.status.kubeConfig).users[0];
  const decoded = (member: string): string => Buffer.from(user[member], "base64").toString();
  const certificate = { cert: decoded("client-certificate-data"), key: decoded("client-key-data") };
  const path = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces";
  for (let times = 0; times < 2; times++) expect((await platform.send({ path, certificate })).status).toBe(200);
  const { used } = await activity();
  expect(used.filter(({ id }: any) => id.startsWith("certificate:"))).toEqual([
    { id: expect.any(String), owner: "admin", virtualCluster: "default/demo", count: 2 },
  ]);
});

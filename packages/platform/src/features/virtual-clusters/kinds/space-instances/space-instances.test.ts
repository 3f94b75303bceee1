import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTenancy, GROUP, type Tenancy, userOf } from "../../../../server/testing/tenancy.ts";

let tenancy: Tenancy;
beforeEach(async () => {
  tenancy = await createTenancy();
});
afterEach(async () => {
  await tenancy[Symbol.asyncDispose]();
});

const PATH = "namespaces/p-default/spaceinstances";

it("is placed, and is owned by its creator", async () => {
  expect(await tenancy.create(PATH, { metadata: { name: "team" } }, userOf("alice"))).toMatchObject({
    spec: { owner: { user: "alice" }, clusterRef: { cluster: "embedded", namespace: "team" } },
    status: { phase: "Pending" },
  });
});

it("is Ready once its namespace exists as in the template", async () => {
  const template = { metadata: { labels: { tier: "gold" }, annotations: { note: "ours" } } };
  const path = `/apis/${GROUP}/v1/${PATH}/team`;
  await tenancy.create(PATH, { metadata: { name: "team" }, spec: { template } });
  await tenancy.settled();
  const { body } = await tenancy.request({ url: path });
  expect(body.status).toMatchObject({
    phase: "Ready",
    space: template,
    conditions: [{ type: "Ready", status: "True" }],
  });
  const { uid } = body.metadata;
  const namespaceOf = async () => {
    const { view, keys } = (await tenancy.embedded.open(uid)).resource("", "Namespace");
    return view.get(keys.of("", "team"))?.decode().metadata;
  };
  expect(await namespaceOf()).toMatchObject({ labels: { tier: "gold" }, annotations: { note: "ours" } });

  const headers = { "content-type": "application/merge-patch+json" };
  const change = { spec: { template: { metadata: { labels: { tier: "silver" } } } } };
  await tenancy.request({ method: "PATCH", url: path, headers, body: change });
  await tenancy.settled();
  expect(await namespaceOf()).toMatchObject({ labels: { tier: "silver", "kubernetes.io/metadata.name": "team" } });
});

it("leaves nothing behind, and has nothing of an earlier one of its name (security book 11)", async () => {
  const before = (await tenancy.storage.list("/registry/vc-")).entries.length;
  const { metadata } = await tenancy.create(PATH, { metadata: { name: "team" } });
  await tenancy.settled();
  expect((await tenancy.storage.list(`/registry/vc-${metadata.uid}/`)).entries.length).toBeGreaterThan(0);
  await tenancy.request({ method: "DELETE", url: `/apis/${GROUP}/v1/${PATH}/team` });
  await tenancy.settled();
  await expect(tenancy.request({ url: `/apis/${GROUP}/v1/${PATH}/team` })).rejects.toMatchObject({ code: 404 });
  expect((await tenancy.storage.list("/registry/vc-")).entries.length).toBe(before);
});

it("is refused with a name for its namespace that is none", async () => {
  const clusterRef = { namespace: "not/a name" };
  const spoiled = tenancy.create(PATH, { metadata: { name: "team" }, spec: { clusterRef } });
  await expect(spoiled).rejects.toMatchObject({ code: 422 });
});

it("does not move, and is refused outside the namespace of a project", async () => {
  await tenancy.create(PATH, { metadata: { name: "team" } });
  const url = `/apis/${GROUP}/v1/${PATH}/team`;
  const headers = { "content-type": "application/merge-patch+json" };
  const body = { spec: { clusterRef: { namespace: "other" } } };
  await expect(tenancy.request({ method: "PATCH", url, headers, body })).rejects.toMatchObject({ code: 422 });
  const outside = tenancy.create("namespaces/default/spaceinstances", { metadata: { name: "team" } });
  await expect(outside).rejects.toMatchObject({ code: 422 });
});

it("reports with ?extended=true what the caller may do", async () => {
  await tenancy.create(PATH, { metadata: { name: "team" } });
  const { body } = await tenancy.request({ url: `/apis/${GROUP}/v1/spaceinstances?extended=true` });
  expect(body.items[0].status).toMatchObject({ canUse: true, canUpdate: true });
});

it("keeps the finalizer of the server, whatever its owner writes (security book 11)", async () => {
  const url = `/apis/${GROUP}/v1/${PATH}/team`;
  await tenancy.create(PATH, { metadata: { name: "team" } }, userOf("alice"));
  const headers = { "content-type": "application/merge-patch+json" };
  const change = (finalizers: readonly string[] | null) =>
    tenancy.request({ method: "PATCH", url, headers, body: { metadata: { finalizers } }, user: userOf("alice") });
  const finalizer = "example.test/space";
  expect((await change(["example.com/other"])).body.metadata.finalizers).toEqual(["example.com/other", finalizer]);
  expect((await change(null)).body.metadata.finalizers).toEqual([finalizer]);
});

describe("in a connected cluster", () => {
  const inFar = (spec: object = {}) => ({
    metadata: { name: "team" },
    spec: { clusterRef: { cluster: "far" }, ...spec },
  });
  const labelled = (key: string, field = "labels") => ({ template: { metadata: { [field]: { [key]: "x" } } } });
  let mayRestrict: boolean;

  beforeEach(async () => {
    await tenancy[Symbol.asyncDispose]();
    mayRestrict = true;
    tenancy = await createTenancy({
      authorizer: {
        authorize: ({ verb }) => ({ verdict: verb !== "restrict" || mayRestrict ? "allow" : "no-opinion", reason: "" }),
      },
    });
    await tenancy.create("clusters", { metadata: { name: "far" } });
    const headers = { "content-type": "application/merge-patch+json" };
    const body = { spec: { allowedClusters: [{ name: "*" }] } };
    await tenancy.request({ method: "PATCH", url: `/apis/${GROUP}/v1/projects/default`, headers, body });
    mayRestrict = false;
  });

  it.each([
    ["labels", "pod-security.kubernetes.io/enforce"],
    ["labels", "kubernetes.io/metadata.name"],
    ["annotations", "scheduler.alpha.kubernetes.io/node-selector"],
    ["annotations", "policy.k8s.io/exempt"],
    ["labels", "example.test/space-instance-uid"],
  ])("its tenants cannot set %s of Kubernetes and the platform: %s (security book 10)", async (field, key) => {
    const refusal = { code: 403, message: expect.stringContaining(`spec.template.metadata.${field}: "${key}"`) };
    await expect(tenancy.create(PATH, inFar(labelled(key, field)))).rejects.toMatchObject(refusal);
    await tenancy.create(PATH, inFar(labelled("app.kubernetes.io/part-of")));
    const url = `/apis/${GROUP}/v1/${PATH}/team`;
    const headers = { "content-type": "application/merge-patch+json" };
    const change = () => tenancy.request({ method: "PATCH", url, headers, body: { spec: labelled(key, field) } });
    await expect(change()).rejects.toMatchObject(refusal);
    mayRestrict = true;
    expect((await change()).status).toBe(200);
    mayRestrict = false;
    const body = { spec: { displayName: "unchanged otherwise" } };
    expect((await tenancy.request({ method: "PATCH", url, headers, body })).status).toBe(200);
  });

  it("it cannot take the namespace of another project's virtual clusters (security book 10)", async () => {
    const taking = (namespace: string) => inFar({ clusterRef: { cluster: "far", namespace } });
    await expect(tenancy.create(PATH, taking("p-other"))).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining("spec.clusterRef.namespace: Forbidden: namespaces with this name"),
    });
    expect(await tenancy.create(PATH, taking("p-default"))).toHaveProperty("spec.clusterRef.namespace", "p-default");
  });
});

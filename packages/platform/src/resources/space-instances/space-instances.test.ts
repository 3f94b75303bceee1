import { afterEach, beforeEach, expect, it } from "vitest";
import { createTenancy, GROUP, type Tenancy, userOf } from "../testing/tenancy.ts";

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

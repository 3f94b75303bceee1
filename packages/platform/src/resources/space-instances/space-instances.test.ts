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

it("is placed, belongs to whoever creates it, and says that spaces are not served yet", async () => {
  expect(await tenancy.create(PATH, { metadata: { name: "team" } }, userOf("alice"))).toMatchObject({
    spec: { owner: { user: "alice" }, clusterRef: { cluster: "embedded", namespace: "team" } },
    status: { phase: "Pending", reason: "ConnectionNotServed" },
  });
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

it("tells the caller with ?extended=true what it may do", async () => {
  await tenancy.create(PATH, { metadata: { name: "team" } });
  const { body } = await tenancy.request({ url: `/apis/${GROUP}/v1/spaceinstances?extended=true` });
  expect(body.items[0].status).toMatchObject({ canUse: true, canUpdate: true });
});

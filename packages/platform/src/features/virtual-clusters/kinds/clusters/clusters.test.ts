import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTenancy, GROUP, PLATFORM_CA, type Tenancy } from "../../../../server/testing/tenancy.ts";

let tenancy: Tenancy;
beforeEach(async () => {
  tenancy = await createTenancy();
});
afterEach(async () => {
  expect(tenancy.errors).toEqual([]);
  await tenancy[Symbol.asyncDispose]();
});

const BASE = `/apis/${GROUP}/v1/clusters`;

describe("a cluster", () => {
  it("is initialized when it is this server itself, and pending until it is reached otherwise", async () => {
    expect(tenancy.lookup.cluster("embedded")?.status?.phase).toBe("Initialized");
    const far = await tenancy.create("clusters", { metadata: { name: "far" } });
    expect(far.status).toEqual({ phase: "Pending" });
  });

  it("does not become this server itself, or cease to be it", async () => {
    const headers = { "content-type": "application/merge-patch+json" };
    const patch = { method: "PATCH", url: `${BASE}/embedded`, headers, body: { spec: { local: false } } };
    await expect(tenancy.request(patch)).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining("spec.local"),
    });
  });

  it.each([
    ["a local cluster with a kubeconfig", { local: true, kubeConfigRef: { secretName: "x" } }, "spec.kubeConfigRef"],
    ["a kubeconfig in no namespace", { kubeConfigRef: { secretName: "x" } }, "spec.kubeConfigRef.secretNamespace"],
  ])("is refused with %s", async (_what, spec, field) => {
    await expect(tenancy.create("clusters", { metadata: { name: "far" }, spec })).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining(field),
    });
  });
});

it("clusters/{name}/accesskey answers with what an agent needs, the key made once", async () => {
  await tenancy.create("clusters", { metadata: { name: "far" } });
  const { body } = await tenancy.request({ url: `${BASE}/far/accesskey` });
  expect(body).toMatchObject({
    accessKey: "control-plane-key-0",
    exampleHost: "platform.test:8443",
    insecure: false,
    caCert: Buffer.from(PLATFORM_CA).toString("base64"),
  });
  expect((await tenancy.request({ url: `${BASE}/far/accesskey` })).body.accessKey).toBe(body.accessKey);
  expect(tenancy.controlPlane).toMatchObject([{ subject: "example:cluster:far", role: { role: "agent" } }]);
});

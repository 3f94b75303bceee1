import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTenancy, GROUP, type Tenancy } from "../../../../server/testing/tenancy.ts";

let tenancy: Tenancy;
beforeEach(async () => {
  tenancy = await createTenancy();
});
afterEach(async () => {
  expect(tenancy.errors).toEqual([]);
  await tenancy[Symbol.asyncDispose]();
});

const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const RBAC = "rbac.authorization.k8s.io";
const EDIT = `${BINDINGS}/example:role:edit`;
const STANDARD = ["example:role:cluster-admin", "example:role:edit", "example:role:view"];

async function bindings(): Promise<readonly any[]> {
  const { body } = await tenancy.inside("demo", { url: BINDINGS });
  return body.items.filter(({ metadata }: any) => metadata.name.startsWith("example:"));
}
const names = async () => (await bindings()).map(({ metadata }) => metadata.name);
const patch = (call: { readonly url: string; readonly body: object }) => ({
  method: "PATCH",
  headers: { "content-type": "application/merge-patch+json" },
  ...call,
});
const setRules = async (extraAccessRules: readonly object[]): Promise<void> => {
  const url = `/apis/${GROUP}/v1/namespaces/p-default/virtualclusterinstances/demo`;
  await tenancy.request(patch({ url, body: { spec: { extraAccessRules } } }));
  await tenancy.settled();
};

describe("bindings inside a virtual cluster", () => {
  it("are recreated when a user inside deletes them", async () => {
    expect(await names()).toEqual(STANDARD);
    await tenancy.inside("demo", { method: "DELETE", url: EDIT });
    await tenancy.settled();
    expect(await names()).toEqual(STANDARD);
  });

  it.each([
    ["their subjects", { subjects: [{ kind: "User", apiGroup: RBAC, name: "eve" }] }],
    ["their label", { metadata: { labels: { "app.kubernetes.io/managed-by": null } } }],
  ])("are corrected when a user inside changes %s", async (_what, body) => {
    await tenancy.inside("demo", patch({ url: EDIT, body }));
    await tenancy.settled();
    const { body: binding } = await tenancy.inside("demo", { url: EDIT });
    expect(binding.subjects).toEqual([{ kind: "Group", apiGroup: RBAC, name: "example:role:edit" }]);
    expect(binding.metadata.labels).toEqual({ "app.kubernetes.io/managed-by": "example" });
  });

  it("take the place of one that gives the group another role", async () => {
    const root = { name: "root", groups: ["example:role:cluster-admin"] };
    await tenancy.inside("demo", { method: "DELETE", url: `${BINDINGS}/example:role:view` });
    const forged = {
      metadata: { name: "example:role:view" },
      subjects: [{ kind: "Group", apiGroup: RBAC, name: "example:role:view" }],
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" },
    };
    // It may be back already, in which case this is refused.
    await tenancy.inside("demo", { method: "POST", url: BINDINGS, body: forged, user: root }).catch(() => undefined);
    await tenancy.settled();
    const { body } = await tenancy.inside("demo", { url: `${BINDINGS}/example:role:view` });
    expect(body.roleRef.name).toBe("view");
  });

  it("are all there before the instance is said to be ready", async () => {
    const from = tenancy.cache.revision;
    const written: string[] = [];
    using _ = tenancy.storage.watch("/registry/", from, {
      events: (events) => {
        for (const event of events) {
          if (event.type !== "put") continue;
          const { key, value } = event.entry;
          const isReady = Buffer.from(value).includes('"phase":"Ready"');
          if (key.includes("/clusterrolebindings/example:") || isReady) written.push(key.split("/").at(-1) ?? "");
        }
      },
      error: () => written.push("error"),
    });
    await tenancy.create("namespaces/p-default/virtualclusterinstances", {
      metadata: { name: "other" },
      spec: { owner: { user: "alice" }, extraAccessRules: [{ users: ["bob"], clusterRole: "auditor" }] },
    });
    await tenancy.settled();
    expect(written.slice(0, 4).sort()).toEqual(["example:role:auditor", ...STANDARD]);
    expect(written.at(4)).toBe("other");
  });

  it("follow the access rules of the instance", async () => {
    await setRules([{ users: ["bob"], clusterRole: "auditor" }]);
    expect(await names()).toEqual(["example:role:auditor", ...STANDARD]);
    await setRules([]);
    expect(await names()).toEqual(STANDARD);
  });

  it("do not change bindings of others", async () => {
    const own = {
      metadata: { name: "team-admins" },
      subjects: [{ kind: "Group", apiGroup: RBAC, name: "team" }],
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "admin" },
    };
    await tenancy.inside("demo", { method: "POST", url: BINDINGS, body: own });
    await setRules([{ users: ["bob"], clusterRole: "auditor" }]);
    expect((await tenancy.inside("demo", { url: `${BINDINGS}/team-admins` })).status).toBe(200);
  });
});

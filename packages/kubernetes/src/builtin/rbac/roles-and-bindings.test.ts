// Refusals are kube-apiserver v1.32's, word for word.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { alice, cellsOf, grantToAlice, messageOf, podReader, RBAC } from "../testing/scenarios.ts";
import { createTestCluster, type TestCluster } from "../testing/test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await createTestCluster();
});
afterEach(() => cluster[Symbol.asyncDispose]());

describe("roles and bindings", () => {
  it.each([
    [
      { rules: [{ apiGroups: [""], resources: ["pods"] }] },
      "rules[0].verbs: Required value: verbs must contain at least one value",
    ],
    [
      { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] },
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
    ],
    [
      { rules: [{ verbs: ["get"] }] },
      "[rules[0].apiGroups: Required value: resource rules must supply at least one api group, rules[0].resources: Required value: resource rules must supply at least one resource]",
    ],
  ])("refuse the role %#", async (role, message) => {
    const created = cluster.create("roles", { metadata: { name: "r:R" }, ...role } as never);
    expect(await messageOf(created)).toBe(`Role.${RBAC} "r:R" is invalid: ${message}`);
  });

  it("fill in API groups, show what is given to whom, and keep their role", async () => {
    await cluster.create("roles", { metadata: { name: "r" }, rules: podReader });
    const binding = await cluster.create("rolebindings", {
      metadata: { name: "b" },
      roleRef: { kind: "Role", name: "r" },
      subjects: [
        { kind: "User", name: "alice" },
        { kind: "Group", name: "devs" },
        { kind: "ServiceAccount", name: "robot", namespace: "default" },
      ],
    });
    expect(binding["roleRef"]).toEqual({ apiGroup: RBAC, kind: "Role", name: "r" });
    expect(cellsOf(cluster, "rolebindings", "b")).toEqual({
      Name: "b",
      Role: "Role/r",
      Age: "5s",
      Users: "alice",
      Groups: "devs",
      ServiceAccounts: "default/robot",
    });
    const roleRef = { kind: "Role", name: "other" };
    expect(await messageOf(cluster.update("rolebindings", { name: "b" }, (b) => ({ ...b, roleRef })))).toBe(
      `RoleBinding.${RBAC} "b" is invalid: roleRef: Invalid value: {"APIGroup":"${RBAC}","Kind":"Role","Name":"other"}: cannot change roleRef`,
    );
  });

  it("refuse subjects that no user can have", async () => {
    const bad = {
      metadata: { name: "b" },
      roleRef: { kind: "Role", name: "" },
      subjects: [{ kind: "Robot", name: "r" }, { kind: "ServiceAccount", name: "s" }, { kind: "User" }],
    };
    expect(await messageOf(cluster.create("clusterrolebindings", bad))).toBe(
      `ClusterRoleBinding.${RBAC} "b" is invalid: [roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole", roleRef.name: Required value, subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group", subjects[1].namespace: Required value, subjects[2].name: Required value]`,
    );
  });
});

describe("privilege escalation", () => {
  const wanted = { metadata: { name: "w" }, rules: podReader };

  it("is refused on roles, in upstream's words", async () => {
    await grantToAlice(cluster, [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }]);
    const refusal =
      'user "alice" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
      '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}';
    expect(await messageOf(cluster.create("roles", wanted, alice))).toBe(`roles.${RBAC} "w" is forbidden: ${refusal}`);
    await cluster.create("roles", { metadata: { name: "w" }, rules: [] }, alice);
    const widened = cluster.update("roles", { name: "w" }, (role) => ({ ...role, rules: podReader }), alice);
    expect(await messageOf(widened)).toBe(`roles.${RBAC} "w" is forbidden: ${refusal}`);
  });

  it("is allowed with what one holds, with escalate, and for masters", async () => {
    await grantToAlice(cluster, podReader);
    expect(await messageOf(cluster.create("roles", wanted, alice))).toBe("allowed");
    expect(await messageOf(cluster.create("clusterroles", wanted))).toBe("allowed");
    await cluster.update("clusterroles", { name: "for-alice" }, (role) => ({
      ...role,
      rules: [{ verbs: ["escalate"], apiGroups: [RBAC], resources: ["roles"], resourceNames: ["x"] }],
    }));
    const x = { metadata: { name: "x" }, rules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }] };
    expect(await messageOf(cluster.create("roles", x, alice))).toMatch(/allowed/);
    expect(await messageOf(cluster.create("clusterroles", x, alice))).toMatch(/is attempting to grant/);
  });

  it("is refused on aggregation without everything", async () => {
    await grantToAlice(cluster, podReader);
    const aggregated = {
      metadata: { name: "a" },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
    };
    expect(await messageOf(cluster.create("clusterroles", aggregated, alice))).toBe(
      `clusterroles.${RBAC} "a" is forbidden: must have cluster-admin privileges to use the aggregationRule`,
    );
  });

  it("is refused on bindings unless one holds the role's rights or may bind it", async () => {
    await grantToAlice(cluster, [
      { verbs: ["bind"], apiGroups: [RBAC], resources: ["clusterroles"], resourceNames: ["ok"] },
    ]);
    for (const name of ["ok", "no"]) await cluster.create("clusterroles", { metadata: { name }, rules: podReader });
    const bind = (name: string) =>
      messageOf(
        cluster.create(
          "rolebindings",
          {
            metadata: { name: `b-${name}` },
            roleRef: { kind: "ClusterRole", name },
            subjects: [{ kind: "User", name: "alice" }],
          },
          alice,
        ),
      );
    expect(await bind("ok")).toBe("allowed");
    expect(await bind("no")).toBe("allowed");
    expect(await bind("gone")).toBe(`clusterrole.${RBAC} "gone" not found`);
    await cluster.delete("rolebindings", { name: "b-ok" });
    await cluster.delete("rolebindings", { name: "b-no" });
    expect(await bind("no")).toMatch(/rolebindings.* "b-no" is forbidden: .*is attempting to grant/);
  });

  it("looks at what one holds now, however often one has bound before", async () => {
    await grantToAlice(cluster, podReader);
    await cluster.create("clusterroles", { metadata: { name: "wide" }, rules: podReader });
    const bind = (name: string) =>
      messageOf(
        cluster.create(
          "rolebindings",
          {
            metadata: { name },
            roleRef: { kind: "ClusterRole", name: "wide" },
            subjects: [{ kind: "User", name: "bo" }],
          },
          alice,
        ),
      );
    expect(await bind("b1")).toBe("allowed");
    expect(await bind("b2")).toBe("allowed");
    await cluster.update("clusterroles", { name: "wide" }, (role) => ({
      ...role,
      rules: [...podReader, { verbs: ["delete"], apiGroups: [""], resources: ["pods"] }],
    }));
    expect(await bind("b3")).toMatch(/attempting to grant.*\n.*delete/);
    await cluster.update("clusterroles", { name: "for-alice" }, (role) => ({
      ...role,
      rules: [...podReader, { verbs: ["delete"], apiGroups: [""], resources: ["pods"] }],
    }));
    expect(await bind("b4")).toBe("allowed");
    await cluster.update("clusterroles", { name: "for-alice" }, (role) => ({ ...role, rules: [] }));
    expect(await bind("b5")).toMatch(/attempting to grant/);
  });
});

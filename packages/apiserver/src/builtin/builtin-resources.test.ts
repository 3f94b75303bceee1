// Refusals are kube-apiserver v1.32's, word for word.

import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { UserInfo } from "../authentication/user-info.ts";
import { tableColumns } from "../endpoints/table/table-cells.ts";
import { createTestCluster, ownerReferenceTo, type TestCluster } from "./testing/test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await createTestCluster();
});
afterEach(() => cluster[Symbol.asyncDispose]());

const alice: UserInfo = { name: "alice", uid: "alice-uid", groups: ["devs", "system:authenticated"] };
const RBAC = "rbac.authorization.k8s.io";
const podReader = [{ verbs: ["get", "list"], apiGroups: [""], resources: ["pods"] }];

/** Gives alice these rules everywhere. */
async function grantToAlice(rules: object[]): Promise<void> {
  await cluster.create("clusterroles", { metadata: { name: "for-alice" }, rules: rules as never });
  await cluster.create("clusterrolebindings", {
    metadata: { name: "for-alice" },
    roleRef: { kind: "ClusterRole", name: "for-alice" },
    subjects: [{ kind: "User", name: "alice" }],
  });
}

const messageOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
    return "allowed";
  } catch (error) {
    return (error as Error).message;
  }
};
const cellsOf = (plural: string, name: string, namespace = "default") => {
  const object = cluster.get(plural, { name, namespace });
  const { definitions, cells } = tableColumns(cluster.resource(plural).definition);
  const values = cells(object!, Date.parse(object?.metadata.creationTimestamp ?? "") + 5000);
  return Object.fromEntries(definitions.map(({ name: column }, index) => [column, values[index]]));
};

describe("namespaces", () => {
  it("become active, with a finalizer and a label of their name", async () => {
    const created = await cluster.create("namespaces", { metadata: { name: "n" }, status: { phase: "Odd" } });
    expect(created).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "n" } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
    expect(created.metadata.generation).toBe(undefined);
    const updated = await cluster.update("namespaces", { name: "n" }, (n) => ({
      ...n,
      spec: {},
      metadata: { ...n.metadata, labels: { a: "b" } },
    }));
    expect(updated["spec"]).toEqual({ finalizers: ["kubernetes"] });
    expect(updated.metadata.labels).toEqual({ a: "b", "kubernetes.io/metadata.name": "n" });
    expect(cellsOf("namespaces", "n", "")).toEqual({ Name: "n", Status: "Active", Age: "5s" });
  });

  it.each([
    ["a.b", /Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots/],
    ["N", /a lowercase RFC 1123 label must consist/],
  ])("refuse the name %s", async (name, message) => {
    expect(await messageOf(cluster.create("namespaces", { metadata: { name } }))).toMatch(message);
  });

  it("go at once when nothing holds them", async () => {
    await cluster.create("namespaces", { metadata: { name: "n" } });
    await cluster.update("namespaces", { name: "n", subresource: "finalize" }, (n) => ({ ...n, spec: {} }));
    await cluster.delete("namespaces", { name: "n" });
    expect(cluster.names("namespaces")).toEqual(["default", "other"]);
  });
});

describe("secrets and config maps", () => {
  it("put stringData into data, over what is there, and give a type", async () => {
    const secret = await cluster.create("secrets", {
      metadata: { name: "s" },
      data: { a: "b2xk", b: "Yg==" },
      stringData: { a: "new" },
    });
    expect(secret).toMatchObject({ data: { a: "bmV3", b: "Yg==" }, type: "Opaque" });
    expect(secret["stringData"]).toBe(undefined);
    expect(cellsOf("secrets", "s")).toEqual({ Name: "s", Type: "Opaque", Data: 2, Age: "5s" });
  });

  it.each([
    [{ type: "kubernetes.io/tls", data: { "tls.crt": "" } }, "data[tls.key]: Required value"],
    [{ type: "kubernetes.io/basic-auth" }, "[data[username]: Required value, data[password]: Required value]"],
    [
      { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": "eA==" } },
      'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": must be valid JSON',
    ],
    [
      { type: "kubernetes.io/service-account-token" },
      "metadata.annotations[kubernetes.io/service-account.name]: Required value",
    ],
    [
      { data: { "a/b": "" } },
      "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ],
    [{ data: { a: "A".repeat(1_400_000) } }, "data: Too long: may not be more than 1048576 bytes"],
  ])("refuse %#", async (secret, message) => {
    const created = cluster.create("secrets", { metadata: { name: "s" }, ...secret } as never);
    expect(await messageOf(created)).toBe(`Secret "s" is invalid: ${message}`);
  });

  it("keep what is immutable", async () => {
    await cluster.create("secrets", { metadata: { name: "s" }, immutable: true, data: { a: "" } });
    const change = (edit: object) => messageOf(cluster.update("secrets", { name: "s" }, (s) => ({ ...s, ...edit })));
    const why = "Forbidden: field is immutable when `immutable` is set";
    expect(await change({ immutable: false })).toBe(`Secret "s" is invalid: immutable: ${why}`);
    expect(await change({ data: { a: "YQ==" } })).toBe(`Secret "s" is invalid: data: ${why}`);
    expect(await change({ type: "other" })).toBe(
      'Secret "s" is invalid: type: Invalid value: "other": field is immutable',
    );
    expect(await change({ metadata: { name: "s", namespace: "default", labels: { a: "b" } } })).toBe("allowed");
  });

  it("refuse a key that is in both halves of a config map", async () => {
    const both = { data: { a: "x" }, binaryData: { a: "eA==" } };
    expect(await messageOf(cluster.create("configmaps", { metadata: { name: "c" }, ...both }))).toBe(
      'ConfigMap "c" is invalid: data[a]: Invalid value: "a": duplicate of key present in binaryData',
    );
  });
});

describe("leases and events", () => {
  it("refuse a lease without a duration, and an event about another namespace", async () => {
    const lease = { metadata: { name: "l" }, spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } };
    expect(await messageOf(cluster.create("leases", lease))).toBe(
      'Lease.coordination.k8s.io "l" is invalid: [spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0]',
    );
    const event = { metadata: { name: "e" }, involvedObject: { kind: "Pod", name: "p", namespace: "other" } };
    expect(await messageOf(cluster.create("events", event))).toBe(
      'Event "e" is invalid: involvedObject.namespace: Invalid value: "other": does not match event.namespace',
    );
  });
});

describe("events", () => {
  it("say first when they were last seen, and their name last", async () => {
    const involvedObject = { kind: "Pod", name: "p", namespace: "default", fieldPath: "spec.containers{c}" };
    await cluster.create("events", {
      metadata: { name: "bare" },
      involvedObject: { kind: "Pod", namespace: "default" },
    });
    await cluster.create("events", {
      metadata: { name: "told" },
      involvedObject,
      reason: "Started",
      message: " has begun\n",
      type: "Normal",
      source: { component: "kubelet", host: "node" },
      count: 3,
    });
    expect(Object.entries(cellsOf("events", "told"))).toEqual([
      ["Last Seen", "<unknown>"],
      ["Type", "Normal"],
      ["Reason", "Started"],
      ["Object", "pod/p"],
      ["Subobject", "spec.containers{c}"],
      ["Source", "kubelet, node"],
      ["Message", "has begun"],
      ["First Seen", "<unknown>"],
      ["Count", 3],
      ["Name", "told"],
    ]);
    expect(cellsOf("events", "bare")).toMatchObject({
      Object: "pod",
      Source: "",
      Subobject: "",
      Message: "",
      Count: 1,
    });
  });

  it("are as old as their series, if they are one", async () => {
    const { creationTimestamp } = (await cluster.create("namespaces", { metadata: { name: "clock" } })).metadata;
    await cluster.create("events", {
      metadata: { name: "series" },
      involvedObject: { kind: "Pod", name: "p", namespace: "default" },
      firstTimestamp: "2000-01-01T00:00:00Z",
      lastTimestamp: "2000-01-01T00:00:00Z",
      series: { count: 7, lastObservedTime: creationTimestamp ?? "" },
    });
    expect(cellsOf("events", "series")).toMatchObject({ "Last Seen": expect.stringMatching(/^\d+s$/), Count: 7 });
    expect(cellsOf("events", "series")["First Seen"]).toMatch(/^\d+y\d*d?$/);
  });
});

describe("roles and bindings", () => {
  it.each([
    [
      { rules: [{ apiGroups: [""], resources: ["pods"] }] },
      "rules[0].verbs: Required value: verbs must contain at least one value",
    ],
    [
      { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }] },
      'rules[0].nonResourceURLs: Invalid value: []string{"/x"}: namespaced rules cannot apply to non-resource URLs',
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
    expect(cellsOf("rolebindings", "b")).toEqual({
      Name: "b",
      Role: "Role/r",
      Age: "5s",
      Users: "alice",
      Groups: "devs",
      ServiceAccounts: "default/robot",
    });
    const roleRef = { kind: "Role", name: "other" };
    expect(await messageOf(cluster.update("rolebindings", { name: "b" }, (b) => ({ ...b, roleRef })))).toBe(
      `RoleBinding.${RBAC} "b" is invalid: roleRef: Invalid value: rbac.RoleRef{APIGroup:"${RBAC}", Kind:"Role", Name:"other"}: cannot change roleRef`,
    );
  });

  it("refuse subjects that nobody can be", async () => {
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
    await grantToAlice([{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }]);
    const refusal =
      'user "alice" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
      '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}';
    expect(await messageOf(cluster.create("roles", wanted, alice))).toBe(`roles.${RBAC} "w" is forbidden: ${refusal}`);
    await cluster.create("roles", { metadata: { name: "w" }, rules: [] }, alice);
    const widened = cluster.update("roles", { name: "w" }, (role) => ({ ...role, rules: podReader }), alice);
    expect(await messageOf(widened)).toBe(`roles.${RBAC} "w" is forbidden: ${refusal}`);
  });

  it("is allowed with what one holds, with escalate, and for masters", async () => {
    await grantToAlice(podReader);
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
    await grantToAlice(podReader);
    const aggregated = {
      metadata: { name: "a" },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
    };
    expect(await messageOf(cluster.create("clusterroles", aggregated, alice))).toBe(
      `clusterroles.${RBAC} "a" is forbidden: must have cluster-admin privileges to use the aggregationRule`,
    );
  });

  it("is refused on bindings unless one holds the role's rights or may bind it", async () => {
    await grantToAlice([{ verbs: ["bind"], apiGroups: [RBAC], resources: ["clusterroles"], resourceNames: ["ok"] }]);
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
});

describe("owner references", () => {
  it("need the right to delete: the owner for blockOwnerDeletion (422), the object for any change (403)", async () => {
    await grantToAlice([{ verbs: ["get"], apiGroups: [""], resources: ["configmaps"] }]);
    const owner = await cluster.create("configmaps", { metadata: { name: "owner" } });
    const owned = (more: object, user = alice) =>
      messageOf(
        cluster.create(
          "configmaps",
          { metadata: { name: "c", ownerReferences: [ownerReferenceTo(owner, more)] } },
          user,
        ),
      );
    expect(await owned({ blockOwnerDeletion: true })).toBe(
      'ConfigMap "c" is invalid: metadata.ownerReferences[0].blockOwnerDeletion: Forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can\'t delete',
    );
    expect(await owned({ blockOwnerDeletion: true, kind: "Nothing" })).toMatch(/cannot find RESTMapping.*Kind Nothing/);
    expect(await owned({})).toBe("allowed");
    const clear = (user?: UserInfo) =>
      messageOf(
        cluster.update(
          "configmaps",
          { name: "c" },
          (c) => ({ ...c, metadata: { ...c.metadata, ownerReferences: [] } }),
          user,
        ),
      );
    expect(await clear(alice)).toBe(
      'configmaps "c" is forbidden: cannot set an ownerRef on a resource you can\'t delete: , <nil>',
    );
    expect(await clear()).toBe("allowed");
  });
});

describe("reviews", () => {
  const golden = JSON.parse(readFileSync(new URL("./testdata/review-01.json", import.meta.url), "utf8"));
  const users: { [name: string]: UserInfo } = {
    admin: { name: "admin", groups: ["system:masters", "system:authenticated"] },
    alice,
  };
  const steps = golden.steps.filter(
    ({ request, compare }: any) => request.method === "POST" && request.user !== null && compare !== "shape",
  );

  it.each<[string, any]>(steps.map((step: any, index: number) => [`${index} ${step.note}`, step]))(
    "answer as kube-apiserver: %s",
    async (_name, { request, response }) => {
      await grantToAlice([
        { verbs: ["create"], apiGroups: ["management.example.com"], resources: ["ownedaccesskeys"] },
        { verbs: ["get"], nonResourceURLs: ["/healthz"] },
      ]);
      const plural = request.path.split("/").at(-1);
      const { managedFields: _, ...metadata } = response.json.metadata;
      const user = users[request.user]!;
      if (response.status !== 201) {
        await expect(cluster.submit(plural, request.json, user)).rejects.toSatisfy((error: any) => {
          expect(error.toStatus()).toEqual(response.json);
          return true;
        });
        return;
      }
      const answer: any = await cluster.submit(plural, request.json, user);
      const { reason = "", ...status } = answer.status;
      const { reason: expectedReason = "", ...expectedStatus } = response.json.status;
      expect(reason.startsWith(expectedReason.replace("<anytext>", ""))).toBe(true);
      expect({ ...answer, status }).toEqual({
        ...response.json,
        metadata: metadata.creationTimestamp === null ? metadata : { creationTimestamp: "1970-01-01T00:00:00Z" },
        status: expectedStatus,
      });
    },
  );

  it("tell a caller its rules, and need a namespace for that", async () => {
    await grantToAlice(podReader);
    const answer = await cluster.submit("selfsubjectrulesreviews", { spec: { namespace: "default" } }, alice);
    expect(answer).toMatchObject({
      spec: {},
      status: { resourceRules: podReader, nonResourceRules: [], incomplete: false },
    });
    expect(await messageOf(cluster.submit("selfsubjectrulesreviews", { spec: {} }, alice))).toBe(
      "no namespace on request",
    );
  });

  it("answer token reviews only for audiences the server goes by", async () => {
    const review = (audiences: string[]) =>
      cluster.submit("tokenreviews", { spec: { token: "alice-token", audiences } });
    expect((await review(["x", "https://kubernetes.default.svc"]))["status"]).toMatchObject({
      authenticated: true,
      audiences: ["https://kubernetes.default.svc"],
    });
    expect((await review(["x"]))["status"]).toEqual({ user: {}, error: "invalid bearer token" });
  });
});

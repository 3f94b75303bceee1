import { describe, expect, test } from "vitest";
import { intoCluster, intoVirtualCluster, management, path, scoped } from "../testing/memory-world.ts";
import {
  context,
  expectVerdicts,
  group,
  instance,
  opens,
  ownKeys,
  project,
  role,
  type ScopeCase,
  secret,
  space,
} from "../testing/scope-cases.ts";
import { inScope } from "./scope.ts";

const TABLE: readonly ScopeCase[] = [
  [
    "roles[] platform-cli",
    scoped({ roles: [role("platform-cli")] }),
    [
      management({ resource: "users", name: "alice" }),
      management({ resource: "teams", name: "devs" }),
      project("get", "a"),
      project("get", "a", "clusters"),
      management({ resource: "clusters", name: "c1" }),
      instance("get", "p-a", "v1"),
      space("get", "p-a", "s1"),
    ],
    [
      management({ resource: "users", name: "bob" }),
      management({ resource: "users", name: "alice", subresource: "accesskeys" }),
      management({ resource: "teams", name: "ops" }),
      project("update", "a"),
      project("get", ""),
      project("get", "a", "status"),
      group("other.io", "projects", "get", { name: "a" }),
      instance("get", "kube-system", "v1"),
      instance("get", "", "v1"),
      management({ resource: "others", name: "x" }),
      instance("use", "p-a", "v1"),
      instance("create", "p-a", "v1", "kubeconfig"),
      instance("get", "p-a", "v1", "accesskey"),
      secret("p-a"),
      intoVirtualCluster("a", "v1"),
      ownKeys("get", "k"),
    ],
  ],
  [
    "roles[] platform-cli, narrowed to a virtual cluster",
    scoped({ roles: [{ role: "platform-cli", projects: [], virtualClusters: ["v1"] }] }),
    [instance("get", "p-a", "v1"), instance("get", "p-b", "v1")],
    [instance("get", "p-a", "v2"), project("get", "a")],
  ],
  [
    "roles[] platform-cli, narrowed to a project",
    scoped({ roles: [{ role: "platform-cli", projects: ["a"], virtualClusters: [] }] }),
    [instance("get", "p-a", "v1"), project("get", "a")],
    [instance("get", "p-b", "v1"), project("get", "b")],
  ],
  [
    "roles[] vcluster, narrowed to a virtual cluster",
    scoped({ roles: [{ role: "vcluster", projects: [], virtualClusters: ["v1"] }] }),
    [instance("get", "p-a", "v1")],
    [instance("get", "p-a", "v2"), instance("get", "kube-system", "v1")],
  ],
  [
    "roles[] vcluster, narrowed to a project",
    scoped({ roles: [{ role: "vcluster", projects: ["a"], virtualClusters: [] }] }),
    [instance("get", "p-a", "v1"), instance("get", "p-a", "v2")],
    [instance("get", "p-b", "v1"), instance("get", "p-a", "")],
  ],
  [
    "roles[] vcluster, narrowed",
    scoped({ roles: [{ role: "vcluster", projects: ["a"], virtualClusters: ["v1"] }] }),
    [
      group("authentication.k8s.io", "tokenreviews"),
      group("authorization.k8s.io", "subjectaccessreviews"),
      management({ verb: "introspect", resource: "selves" }),
      instance("get", "p-a", "v1"),
    ],
    [
      instance("get", "p-a", "v1", "accesskey"),
      instance("update", "p-a", "v1"),
      instance("use", "p-a", "v1"),
      instance("get", "p-a", "v10"),
      instance("get", "p-b", "v1"),
      instance("create", "p-a", "v1", "kubeconfig"),
      instance("get", "p-a", "v1", "status"),
      group("other.io", "virtualclusterinstances", "get", { namespace: "p-a", name: "v1" }),
      space("get", "p-a", "v1"),
      project("get", "a"),
      intoVirtualCluster("a", "v1"),
      path("/metrics"),
    ],
  ],
  [
    "roles[] agent",
    scoped({ roles: [role("agent")] }),
    [group("authentication.k8s.io", "tokenreviews"), management({ verb: "introspect", resource: "selves" })],
    [management({ resource: "clusters", name: "c1" }), instance("get", "p-a", "v1"), intoCluster("c1")],
  ],
  [
    "roles[] metrics-reader",
    scoped({ roles: [role("metrics-reader")] }),
    [path("/metrics"), path("/metrics", "head")],
    [path("/metrics", "post"), path("/metrics/x"), path("/debug"), project("get", "a"), intoCluster("c1")],
  ],
];

describe("what each entry allows", () => {
  test.each(TABLE)("%s", (_, restrictions, open, closed) => expectVerdicts(restrictions, open, closed));

  test("the role vcluster gives access to the instance of its subject, and no other", () => {
    const own = "postern:vcluster:p-a:v1";
    const restrictions = scoped({ roles: [role("vcluster")] });
    expect(opens(restrictions, instance("get", "p-a", "v1"), own)).toBe(true);
    expect(opens(restrictions, instance("get", "p-a", "v2"), own)).toBe(false);
    expect(opens(restrictions, instance("get", "p-b", "v1"), own)).toBe(false);
    const ofUser = { ...context, owner: { kind: "user", name: own } } as const;
    expect(inScope(restrictions, instance("get", "p-a", "v1"), ofUser).open).toBe(false);
    expect(opens(restrictions, instance("get", "p-a", "v1"))).toBe(false);
    const elsewhere = scoped({ roles: [{ role: "vcluster", projects: ["b"], virtualClusters: [] }] });
    expect(opens(elsewhere, instance("get", "p-a", "v1"), own)).toBe(false);
  });

  test("the role agent gives access to the cluster of its subject", () => {
    const restrictions = scoped({ roles: [role("agent")] });
    const get = (name: string) => management({ resource: "clusters", name });
    expect(opens(restrictions, get("c1"), "postern:cluster:c1")).toBe(true);
    expect(opens(restrictions, get("c2"), "postern:cluster:c1")).toBe(false);
    for (const parts of [
      { verb: "update" },
      { subresource: "status" },
      { apiGroup: "other.io" },
      { resource: "users" },
    ]) {
      const other = management({ resource: "clusters", name: "c1", ...parts });
      expect({ other, open: opens(restrictions, other, "postern:cluster:c1") }).toEqual({ other, open: false });
    }
    expect(opens(restrictions, get(""))).toBe(false);
  });
});

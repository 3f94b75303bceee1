import type { AccessKeyRestrictions } from "@postern/api/access-key-restrictions";
import { describe, expect, test } from "vitest";
import type { PlatformRequest } from "../request/platform-request.ts";
import {
  inner,
  intoCluster,
  intoSpace,
  intoVirtualCluster,
  management,
  names,
  path,
  scoped,
} from "../testing/memory-world.ts";
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
import { ALWAYS_ALLOWED_PATHS } from "./always-allowed.ts";
import { inScope } from "./scope.ts";

const ALWAYS: readonly PlatformRequest[] = [
  management({ verb: "create", resource: "selves" }),
  management({ verb: "create", resource: "selfsubjectaccessreviews" }),
  group("authentication.k8s.io", "selfsubjectreviews"),
  group("authorization.k8s.io", "selfsubjectaccessreviews"),
  group("authorization.k8s.io", "selfsubjectrulesreviews"),
  ...ALWAYS_ALLOWED_PATHS.map((url) => path(url.replace("*", "v1"))),
  path("/version", "head"),
];
const NEVER_ALWAYS: readonly PlatformRequest[] = [
  path("/apish"),
  path("/metrics"),
  path("/"),
  path("/apis", "post"),
  path("/versions"),
  management({ verb: "get", resource: "selves", name: "x" }),
  management({ verb: "introspect", resource: "selves" }),
  group("authentication.k8s.io", "tokenreviews"),
  group("authorization.k8s.io", "subjectaccessreviews"),
  group("authorization.k8s.io", "localsubjectaccessreviews", "create", { namespace: "p-a" }),
  group("authentication.k8s.io", "selfsubjectreviews", "create", { subresource: "x" }),
  project("get", "a"),
  instance("get", "p-a", "v1"),
  ownKeys("create"),
  ownKeys("get", "k"),
  secret("p-a"),
  management({ verb: "get", resource: "users", name: "alice" }),
  intoVirtualCluster("a", "v1"),
  intoSpace("a", "s1"),
  intoCluster("c1"),
  intoVirtualCluster("a", "v1", { isResourceRequest: false, path: "/version" }),
];

describe("what any valid key allows", () => {
  test.each([
    ["an empty scope", scoped({})],
    ["roles that open nothing", scoped({ roles: ["network-peer", "workspace", "metrics-writer"].map(role) })],
  ])("%s allows discovery, health and self reviews, and nothing else", (_, restrictions) => {
    expectVerdicts(restrictions, ALWAYS, NEVER_ALWAYS);
  });

  test("an absent scope limits nothing, a present one without entries all but that", () => {
    for (const request of [...ALWAYS, ...NEVER_ALWAYS]) expect(opens(undefined, request)).toBe(true);
    expect(inScope(scoped({}), instance("get", "p-a", "v1"), context)).toEqual({ open: false, reason: "out-of-scope" });
  });
});

const TABLE: readonly ScopeCase[] = [
  [
    "projects[]",
    scoped({ projects: [{ project: "a" }] }),
    [
      project("get", "a"),
      project("update", "a"),
      project("get", "a", "clusters"),
      instance("create", "p-a", ""),
      instance("delete", "p-a", "v1"),
      instance("deletecollection", "p-a", ""),
      instance("create", "p-a", "v1", "kubeconfig"),
      space("get", "p-a", "s1"),
      secret("p-a"),
      secret("p-a", "deletecollection"),
      intoVirtualCluster("a", "v1"),
      intoSpace("a", "s1"),
    ],
    [
      project("get", "ab"),
      project("create", ""),
      project("deletecollection", ""),
      instance("get", "p-ab", "v1"),
      instance("get", "p-", "v1"),
      secret("a"),
      secret("p-b"),
      secret(""),
      intoVirtualCluster("ab", "v1"),
      intoSpace("b", "s1"),
      intoCluster("a"),
      ownKeys("create"),
      management({ resource: "ownedaccesskeys", namespace: "p-a", name: "k" }),
      management({ resource: "projects", namespace: "p-b", name: "a" }),
      management({ apiGroup: "other.io", resource: "projects", name: "a" }),
      intoCluster("c1", { resource: "secrets", namespace: "p-a", name: "s" }),
      management({ verb: "get", resource: "clusters", name: "a" }),
      management({ verb: "get", resource: "users", name: "alice" }),
      path("/metrics"),
    ],
  ],
  [
    "virtualClusters[]",
    scoped({ virtualClusters: [{ project: "a", virtualCluster: "v1" }] }),
    [
      instance("get", "p-a", "v1"),
      instance("use", "p-a", "v1"),
      instance("create", "p-a", "v1", "kubeconfig"),
      project("get", "a"),
      intoVirtualCluster("a", "v1"),
    ],
    [
      instance("get", "p-a", "v1", "accesskey"),
      instance("update", "p-a", "v1"),
      instance("delete", "p-a", "v1"),
      instance("deletecollection", "p-a", ""),
      instance("get", "p-a", "v10"),
      instance("get", "p-b", "v1"),
      instance("get", "p-a", "v1", "status"),
      instance("create", "p-a", "v10", "kubeconfig"),
      instance("get", "p-a", "v1", "kubeconfig"),
      instance("create", "p-a", "v1", "accesskey"),
      group("other.io", "virtualclusterinstances", "get", { namespace: "p-a", name: "v1" }),
      space("get", "p-a", "v1"),
      project("get", "b"),
      project("use", "a"),
      project("get", "a", "clusters"),
      secret("p-a"),
      intoVirtualCluster("a", "v10"),
      intoVirtualCluster("b", "v1"),
      intoSpace("a", "v1"),
      ownKeys("create"),
    ],
  ],
  [
    "spaces[]",
    scoped({ spaces: [{ project: "a", space: "s1" }] }),
    [space("get", "p-a", "s1"), space("use", "p-a", "s1"), project("get", "a"), intoSpace("a", "s1")],
    [
      space("update", "p-a", "s1"),
      space("get", "p-a", "s2"),
      instance("get", "p-a", "s1"),
      intoSpace("b", "s1"),
      intoVirtualCluster("a", "s1"),
      project("update", "a"),
    ],
  ],
  [
    "clusters[]",
    scoped({ clusters: [{ cluster: "c1" }] }),
    [
      management({ resource: "clusters", name: "c1" }),
      management({ resource: "clusters", name: "c1", verb: "use" }),
      intoCluster("c1"),
    ],
    [
      group("other.io", "clusters", "get", { name: "c1" }),
      intoVirtualCluster("a", "v1", { apiGroup: names.managementGroup, resource: "clusters", name: "c1" }),
      management({ resource: "clusters", name: "c1", verb: "update" }),
      management({ resource: "clusters", name: "c1", subresource: "status" }),
      management({ resource: "clusters", name: "c2" }),
      intoCluster("c2"),
      intoVirtualCluster("c1", "c1"),
    ],
  ],
];

describe("what each entry allows", () => {
  test.each(TABLE)("%s", (_, restrictions, open, closed) => expectVerdicts(restrictions, open, closed));

  test("lists of filtered kinds pass, to be filtered; other lists do not", () => {
    const restrictions = scoped({ virtualClusters: [{ project: "a", virtualCluster: "v1" }] });
    for (const verb of ["list", "watch"]) {
      expect(inScope(restrictions, management({ verb, resource: "projects" }), context).reason).toBe("filtered-list");
      expect(opens(restrictions, group("", "secrets", verb))).toBe(false);
      expect(opens(restrictions, ownKeys(verb))).toBe(false);
      expect(opens(restrictions, group("other.io", "projects", verb))).toBe(false);
    }
  });

  test("a star for the project is every project, and no other namespace", () => {
    const restrictions = scoped({ virtualClusters: [{ project: "*", virtualCluster: "v1" }] });
    expect(opens(restrictions, instance("get", "p-b", "v1"))).toBe(true);
    expect(opens(restrictions, instance("get", "kube-system", "v1"))).toBe(false);
    expect(opens(restrictions, instance("get", "", "v1"))).toBe(false);
  });

  test.each<[AccessKeyRestrictions | undefined, PlatformRequest, string]>([
    [undefined, ownKeys("create"), "unrestricted"],
    [scoped({}), path("/version"), "always-open"],
    [
      scoped({ virtualClusters: [{ project: "a", virtualCluster: "v1" }] }),
      intoVirtualCluster("a", "v1"),
      "scope.virtualClusters[0]",
    ],
    [scoped({ spaces: [{ project: "a", space: "s1" }] }), intoSpace("a", "s1"), "scope.spaces[0]"],
    [scoped({ clusters: [{ cluster: "c1" }] }), intoCluster("c1"), "scope.clusters[0]"],
    [scoped({ roles: [role("agent"), role("metrics-reader")] }), path("/metrics"), "scope.roles[1]"],
  ])("%j explains why it allows %j: %s", (restrictions, request, reason) => {
    expect(inScope(restrictions, request, context)).toEqual({ open: true, reason });
  });

  test("empty restrictions allow only what every valid key may do", () => {
    const nothing: AccessKeyRestrictions = { scope: undefined, ruleSets: [] };
    expect(inScope(nothing, project("get", "a"), context)).toEqual({ open: false, reason: "out-of-scope" });
    expect(inScope(nothing, path("/version"), context)).toEqual({ open: true, reason: "always-open" });
  });

  test("the reason names the entry", () => {
    const restrictions = scoped({ projects: [{ project: "b" }, { project: "a" }] });
    expect(inScope(restrictions, project("get", "a"), context)).toEqual({ open: true, reason: "scope.projects[1]" });
  });
});

describe("names that hold wildcards (security book 8)", () => {
  test.each(["a*", "*a", "a.*", "?", "**", " *", "* ", "%2a", "A", "a/", "", ","])(
    "%j allows no more than itself",
    (name) => {
      const restrictions = scoped({
        projects: [{ project: name }],
        virtualClusters: [{ project: name, virtualCluster: name }],
        clusters: [{ cluster: name }],
        roles: [{ role: "platform-cli", projects: [name], virtualClusters: [name] }],
      });
      for (const request of [
        project("get", "a"),
        instance("get", "p-a", "a"),
        secret("p-a"),
        intoVirtualCluster("a", "a"),
        intoCluster("a"),
      ]) {
        expect({ request, open: opens(restrictions, request) }).toEqual({ request, open: false });
      }
    },
  );

  test("a single star selects every name, but not the absence of one", () => {
    const restrictions = scoped({ projects: [{ project: "*" }], clusters: [{ cluster: "*" }] });
    expect(opens(restrictions, project("get", "anything"))).toBe(true);
    expect(opens(restrictions, secret("p-x"))).toBe(true);
    expect(opens(restrictions, intoCluster("c9"))).toBe(true);
    expect(opens(restrictions, project("create", ""))).toBe(false);
    expect(opens(restrictions, project("deletecollection", ""))).toBe(false);
    expect(opens(restrictions, secret(""))).toBe(false);
    expect(opens(restrictions, { target: "Management", inner: inner({ resource: "*", apiGroup: "*" }) })).toBe(false);
  });
});

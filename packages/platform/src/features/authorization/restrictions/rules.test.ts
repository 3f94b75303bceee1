import type { AccessKeyRule } from "@postern/api/access-key-restrictions";
import { describe, expect, test } from "vitest";
import { isPermissionSubset } from "../../access-keys/validity/permission-subset.ts";
import type { PlatformRequest } from "../request/platform-request.ts";
import {
  intoCluster,
  intoSpace,
  intoVirtualCluster,
  management,
  names,
  openRule,
  path,
  ruled,
  scoped,
  userInfo,
} from "../testing/memory-world.ts";
import { allowingRule } from "./rules.ts";
import { inScope } from "./scope.ts";

const opens = (rule: Partial<AccessKeyRule>, request: PlatformRequest): boolean =>
  allowingRule([{ ...openRule, ...rule }], request, names) === 0;

const pod = (parts = {}): PlatformRequest =>
  management({ apiGroup: "", resource: "pods", namespace: "p-a", name: "x", ...parts });
const of = (...resources: readonly string[]): Partial<AccessKeyRule> => ({
  resources: [{ group: "", resources, resourceNames: [] }],
});

type Row = readonly [what: string, rule: Partial<AccessKeyRule>, request: PlatformRequest, open: boolean];

const ROWS: readonly Row[] = [
  ["no fields: every resource", {}, pod(), true],
  ["no fields: every path", {}, path("/metrics"), true],
  ["no fields: every target", {}, intoCluster("c1"), true],
  ["verbs: listed", { verbs: ["get"] }, pod(), true],
  ["verbs: not listed", { verbs: ["list"] }, pod(), false],
  ["verbs: star", { verbs: ["*"] }, pod(), true],
  ["resources: by name", of("pods"), pod(), true],
  ["resources: a resource is not its subresources", of("pods"), pod({ subresource: "log" }), false],
  ["resources: with subresource", of("pods/log"), pod({ subresource: "log" }), true],
  ["resources: with subresource is not the resource", of("pods/log"), pod(), false],
  ["resources: all subresources", of("pods/*"), pod({ subresource: "log" }), true],
  ["resources: all subresources are not the resource", of("pods/*"), pod(), false],
  ["resources: a subresource of all", of("*/log"), pod({ subresource: "log" }), true],
  ["resources: another subresource of all", of("*/status"), pod({ subresource: "log" }), false],
  ["resources: star", of("*"), pod({ subresource: "log" }), true],
  ["resources: a star within a name is no wildcard", of("po*"), pod(), false],
  [
    "resources: another group",
    { resources: [{ group: "apps", resources: ["pods"], resourceNames: [] }] },
    pod(),
    false,
  ],
  ["resources: all of the group", of(), pod(), true],
  ["resources: not for paths", of("*"), path("/metrics"), false],
  ["resources: one of several patterns", of("services", "pods"), pod(), true],
  ["resources: a subresource that is not named is none", of("*/"), pod(), false],
  [
    "resources: one of several entries",
    {
      resources: [
        { group: "apps", resources: [], resourceNames: [] },
        { group: "", resources: ["pods"], resourceNames: [] },
      ],
    },
    pod(),
    true,
  ],
  [
    "resources: every group",
    { resources: [{ group: "*", resources: ["pods"], resourceNames: [] }] },
    pod({ apiGroup: "other.io" }),
    true,
  ],
  ["resourceNames: listed", { resources: [{ group: "", resources: ["pods"], resourceNames: ["x"] }] }, pod(), true],
  [
    "resourceNames: not listed",
    { resources: [{ group: "", resources: ["pods"], resourceNames: ["y"] }] },
    pod(),
    false,
  ],
  [
    "resourceNames: no collection",
    { resources: [{ group: "", resources: ["pods"], resourceNames: ["x"] }] },
    pod({ name: "", verb: "list" }),
    false,
  ],
  [
    "resourceNames: nothing without resources",
    { resources: [{ group: "", resources: [], resourceNames: ["x"] }] },
    pod(),
    false,
  ],
  ["namespaces: listed", { namespaces: ["p-a"] }, pod(), true],
  ["namespaces: not listed", { namespaces: ["p-b"] }, pod(), false],
  ["namespaces: empty text is no namespace", { namespaces: [""] }, pod({ namespace: "" }), true],
  ["namespaces: empty text is not every namespace", { namespaces: [""] }, pod(), false],
  ["namespaces: not for paths", { namespaces: [""] }, path("/metrics"), false],
  ["nonResourceURLs: exact", { nonResourceURLs: ["/metrics"] }, path("/metrics"), true],
  ["nonResourceURLs: below is another path", { nonResourceURLs: ["/metrics"] }, path("/metrics/x"), false],
  ["nonResourceURLs: last step", { nonResourceURLs: ["/debug/*"] }, path("/debug/pprof/heap"), true],
  ["nonResourceURLs: not within a step", { nonResourceURLs: ["/debug*"] }, path("/debugger"), false],
  ["nonResourceURLs: not in the middle", { nonResourceURLs: ["/a/*/c"] }, path("/a/b/c"), false],
  ["nonResourceURLs: beside the last step", { nonResourceURLs: ["/debug/*"] }, path("/metrics"), false],
  ["nonResourceURLs: one of several", { nonResourceURLs: ["/healthz", "/metrics"] }, path("/metrics"), true],
  ["nonResourceURLs: star", { nonResourceURLs: ["*"] }, path("/metrics"), true],
  ["nonResourceURLs: not for resources", { nonResourceURLs: ["*"] }, pod(), false],
  ["requestTargets: listed", { requestTargets: ["Management"] }, pod(), true],
  ["requestTargets: not listed", { requestTargets: ["Cluster", "ProjectSpace"] }, pod(), false],
  ["requestTargets: a space", { requestTargets: ["ProjectSpace"] }, intoSpace("a", "s1"), true],
  ["cluster: that one", { cluster: "c1" }, intoCluster("c1"), true],
  ["cluster: another", { cluster: "c1" }, intoCluster("c2"), false],
  ["cluster: nothing but clusters", { cluster: "c1" }, pod(), false],
  ["cluster: every one", { cluster: "*" }, intoCluster("c2"), true],
  ["cluster: every one, and nothing but clusters", { cluster: "*" }, pod(), false],
  ["cluster: no virtual cluster", { cluster: "c1" }, intoVirtualCluster("a", "c1"), false],
  [
    "virtualClusters: that one",
    { virtualClusters: [{ name: "v1", namespace: "p-a" }] },
    intoVirtualCluster("a", "v1"),
    true,
  ],
  [
    "virtualClusters: any namespace",
    { virtualClusters: [{ name: "v1", namespace: "" }] },
    intoVirtualCluster("b", "v1"),
    true,
  ],
  [
    "virtualClusters: any name",
    { virtualClusters: [{ name: "", namespace: "p-a" }] },
    intoVirtualCluster("a", "v9"),
    true,
  ],
  [
    "virtualClusters: another",
    { virtualClusters: [{ name: "v1", namespace: "p-a" }] },
    intoVirtualCluster("b", "v1"),
    false,
  ],
  [
    "virtualClusters: another of the namespace",
    { virtualClusters: [{ name: "v1", namespace: "p-a" }] },
    intoVirtualCluster("a", "v2"),
    false,
  ],
  [
    "virtualClusters: one of several",
    {
      virtualClusters: [
        { name: "v1", namespace: "p-b" },
        { name: "v1", namespace: "p-a" },
      ],
    },
    intoVirtualCluster("a", "v1"),
    true,
  ],
  [
    "virtualClusters: every one",
    { virtualClusters: [{ name: "", namespace: "" }] },
    intoVirtualCluster("a", "v1"),
    true,
  ],
  ["virtualClusters: every one, and nothing else", { virtualClusters: [{ name: "", namespace: "" }] }, pod(), false],
  ["virtualClusters: nothing else", { virtualClusters: [{ name: "v1", namespace: "" }] }, pod(), false],
];

describe("the fields of a rule", () => {
  test.each(ROWS)("%s", (_, rule, request, open) => {
    expect(opens(rule, request)).toBe(open);
  });
});

describe("access keys", () => {
  const keys = management({ verb: "create", resource: "ownedaccesskeys" });
  const named = { resources: [{ group: names.managementGroup, resources: ["ownedaccesskeys"], resourceNames: [] }] };

  test.each<[string, Partial<AccessKeyRule>]>([
    ["no fields", {}],
    [
      "every resource of the group",
      { resources: [{ group: names.managementGroup, resources: [], resourceNames: [] }] },
    ],
    ["a star", { resources: [{ group: names.managementGroup, resources: ["*"], resourceNames: [] }] }],
    ["another group", { resources: [{ group: "*", resources: ["ownedaccesskeys"], resourceNames: [] }] }],
  ])("are not allowed by a rule with %s", (_, rule) => {
    expect(opens(rule, keys)).toBe(false);
  });

  const ofGroup = (...resources: readonly string[]): Partial<AccessKeyRule> => ({
    resources: [{ group: names.managementGroup, resources, resourceNames: [] }],
  });

  test("are not allowed by a wildcard beside another name, nor is a review of everything", () => {
    expect(opens(ofGroup("*", "projects"), keys)).toBe(false);
    const everything = management({ resource: "*" });
    expect(opens(ofGroup("*"), everything)).toBe(false);
    expect(opens({}, everything)).toBe(false);
  });

  test("have subresources that a rule names with them", () => {
    const rotate = management({ verb: "create", resource: "ownedaccesskeys", name: "k", subresource: "rotate" });
    expect(opens(ofGroup("ownedaccesskeys/*"), rotate)).toBe(true);
    expect(opens(ofGroup("ownedaccesskeys/rotate"), rotate)).toBe(true);
    expect(opens(ofGroup("*/rotate"), rotate)).toBe(false);
    expect(opens(ofGroup("ownedaccesskeys"), rotate)).toBe(false);
  });

  test("mean nothing behind a proxy, where another server has a resource of that name", () => {
    const inside = { apiGroup: names.managementGroup, resource: "ownedaccesskeys" };
    expect(opens({}, intoVirtualCluster("a", "v1", inside))).toBe(true);
    expect(opens(ofGroup("*"), intoVirtualCluster("a", "v1", inside))).toBe(true);
  });

  test("are allowed by a rule that names them, where no other scope is set", () => {
    const context = { names, user: userInfo("alice"), owner: { kind: "user", name: "alice" } } as const;
    expect(opens(named, keys)).toBe(true);
    expect(inScope(ruled(named), keys, context).open).toBe(true);
    const both = { ...scoped({ projects: [{ project: "*" }] }), ruleSets: ruled(named).ruleSets };
    expect(inScope(both, keys, context)).toEqual({ open: false, reason: "out-of-scope" });
  });

  test("a child that names them is not within a parent that does not (security book 2)", () => {
    const star = { resources: [{ group: names.managementGroup, resources: ["*"], resourceNames: [] }] };
    expect(isPermissionSubset(ruled(named), ruled(star))).toBe(false);
    expect(isPermissionSubset(ruled(named), ruled({}))).toBe(false);
    expect(isPermissionSubset(ruled(named), ruled(named))).toBe(true);
  });
});

describe("several rule sets", () => {
  const context = { names, user: userInfo("alice"), owner: { kind: "user", name: "alice" } } as const;
  const readOnly = ruled({ verbs: ["get"] }).ruleSets;
  const inA = ruled({ namespaces: ["p-b"] }, { namespaces: ["p-a"] }).ruleSets;

  test("each must have a rule that allows the request", () => {
    const both = { scope: undefined, ruleSets: [...readOnly, ...inA] };
    expect(inScope(both, pod(), context)).toEqual({ open: true, reason: "ruleSets[0][0] ruleSets[1][1]" });
    expect(inScope(both, pod({ verb: "list" }), context)).toEqual({ open: false, reason: "out-of-rules" });
    expect(inScope(both, pod({ namespace: "p-c" }), context).open).toBe(false);
  });

  test("and the scope, when there is one, an entry", () => {
    const restrictions = { ...scoped({ projects: [{ project: "a" }] }), ruleSets: readOnly };
    expect(inScope(restrictions, pod(), context).open).toBe(true);
    expect(inScope(restrictions, pod({ namespace: "p-b" }), context).reason).toBe("out-of-scope");
    expect(inScope(restrictions, pod({ verb: "update" }), context).reason).toBe("out-of-rules");
  });
});

import type { AccessKeyRestrictions, AccessKeyRule } from "@postern/api/access-key-restrictions";
import { describe, expect, test } from "vitest";
import { FILTERED_RESOURCES } from "../filtered-resources.ts";
import { alwaysAllowedRules } from "../restrictions/always-allowed.ts";
import { RestrictionIndex } from "../restrictions/restriction-index.ts";
import { emptyScope, instanceWith, memorySources, names, ruled, scoped, world } from "../testing/memory-world.ts";
import { restrictionRules } from "./restriction-rules.ts";

const ALWAYS = alwaysAllowedRules(names);
const { instances } = memorySources(
  world({
    instances: [
      instanceWith({ name: "v1", labels: { env: "dev" } }),
      instanceWith({ name: "v2", labels: { env: "dev" } }),
      instanceWith({ name: "v3", labels: { env: "prod" } }),
    ],
  }),
);
const context = { names, instances, index: new RestrictionIndex() };
const NOTHING = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };
const managed = (verbs: readonly string[], resources: readonly string[], ...resourceNames: readonly string[]) => ({
  ...NOTHING,
  verbs,
  apiGroups: [names.managementGroup],
  resources,
  resourceNames,
});
const ofProfiles = (verbs: readonly string[], ...resourceNames: readonly string[]) => ({
  ...managed(verbs, ["clusterprofiles"], ...resourceNames),
  apiGroups: ["multicluster.x-k8s.io"],
});
const LISTS = [
  managed(
    ["list", "watch"],
    FILTERED_RESOURCES.filter((resource) => resource !== "clusterprofiles"),
  ),
  ofProfiles(["list", "watch"]),
];
const into = (resource: string, ...name: readonly string[]) => [
  managed(["get", "use"], [resource], ...name),
  managed(["create"], [`${resource}/kubeconfig`], ...name),
];

/** Each list without what it begins with: what is always open. */
const told = (restrictions: AccessKeyRestrictions, namespace: string) => {
  const lists = restrictionRules(restrictions, namespace, context);
  for (const list of lists) expect(list.slice(0, ALWAYS.length)).toEqual(ALWAYS);
  return lists.map((list) => list.slice(ALWAYS.length));
};

describe("a scope", () => {
  const tellsOf = (scope: Parameters<typeof scoped>[0], namespace = "p-a") => told(scoped(scope), namespace);

  test("allows lists, and nothing else when it is empty", () => {
    expect(tellsOf({})).toEqual([LISTS]);
  });

  test("allows everything in the namespace of a project", () => {
    const all = { ...NOTHING, verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
    expect(tellsOf({ projects: [{ project: "a" }] })).toEqual([[...LISTS, all]]);
    expect(tellsOf({ projects: [{ project: "*" }] })).toEqual([[...LISTS, all]]);
    for (const namespace of ["p-b", "kube-system", ""]) {
      expect(tellsOf({ projects: [{ project: "a" }] }, namespace)).toEqual([LISTS]);
    }
    expect(tellsOf({ projects: [{ project: "*" }] }, "kube-system")).toEqual([LISTS]);
  });

  test("allows access to an instance, and reading its project", () => {
    const project = managed(["get"], ["projects"], "a");
    const virtualClusters = [{ project: "a", virtualCluster: "v1" }];
    expect(tellsOf({ virtualClusters })).toEqual([
      [...LISTS, ...into("virtualclusterinstances", "v1"), project, ofProfiles(["get"], "v1")],
    ]);
    expect(tellsOf({ virtualClusters }, "p-b")).toEqual([LISTS]);
    const spaces = [{ project: "a", space: "*" }];
    expect(tellsOf({ spaces })).toEqual([[...LISTS, ...into("spaceinstances"), project]]);
    expect(tellsOf({ spaces }, "p-b")).toEqual([LISTS]);
  });

  test("names the virtual clusters that have the labels now", () => {
    const project = managed(["get"], ["projects"], "a");
    const inEnv = (value: string) => ({
      virtualClusters: [
        { project: "a", virtualCluster: "", labels: [{ key: "env", operator: "in" as const, values: [value] }] },
      ],
    });
    expect(tellsOf(inEnv("dev"))).toEqual([
      [...LISTS, ...into("virtualclusterinstances", "v1", "v2"), project, ofProfiles(["get"], "v1", "v2")],
    ]);
    expect(tellsOf(inEnv("none"))).toEqual([[...LISTS, project]]);
    expect(tellsOf(inEnv("dev"), "p-b")).toEqual([LISTS]);
  });

  test("allows clusters from every path", () => {
    const clusters = [{ cluster: "c1" }, { cluster: "*" }];
    expect(tellsOf({ clusters })).toEqual([
      [...LISTS, managed(["get", "use"], ["clusters"], "c1"), managed(["get", "use"], ["clusters"])],
    ]);
  });
});

describe("rules", () => {
  const tellsOf = (rule: Partial<AccessKeyRule>, namespace = "p-a") => told(ruled(rule), namespace)[0];
  const pods = { group: "", resources: ["pods"], resourceNames: [] };
  const onPods = { ...NOTHING, verbs: ["get"], apiGroups: [""], resources: ["pods"] };
  const onPaths = (...nonResourceURLs: readonly string[]) => ({ ...NOTHING, verbs: ["get"], nonResourceURLs });

  test.each<[what: string, rule: Partial<AccessKeyRule>, opens: readonly object[]]>([
    ["resources", { resources: [pods] }, [onPods]],
    ["names", { resources: [{ ...pods, resourceNames: ["x"] }] }, [{ ...onPods, resourceNames: ["x"] }]],
    ["paths", { nonResourceURLs: ["/metrics"] }, [onPaths("/metrics")]],
    ["both", { resources: [pods], nonResourceURLs: ["/x"] }, [onPaths("/x"), onPods]],
    ["nothing", {}, [onPaths("*"), { ...onPods, apiGroups: ["*"], resources: ["*"] }]],
    ["this namespace", { resources: [pods], namespaces: ["p-b", "p-a"] }, [onPods]],
    ["another namespace", { resources: [pods], namespaces: ["p-b"] }, []],
    ["this namespace alone", { namespaces: ["p-a"] }, [{ ...onPods, apiGroups: ["*"], resources: ["*"] }]],
    ["another namespace alone", { namespaces: ["p-b"] }, []],
    ["a namespace and paths, which are in none", { namespaces: ["p-a"], nonResourceURLs: ["/x"] }, []],
    ["this API", { resources: [pods], requestTargets: ["Cluster", "Management"] }, [onPods]],
    ["other APIs", { resources: [pods], requestTargets: ["Cluster"] }, []],
    ["a cluster", { resources: [pods], cluster: "c1" }, []],
    ["virtual clusters", { resources: [pods], virtualClusters: [{ name: "v1", namespace: "" }] }, []],
    ["a group as a whole", { resources: [{ ...pods, resources: [] }] }, [{ ...onPods, resources: ["*"] }]],
    ["names of nothing", { resources: [{ ...pods, resources: [], resourceNames: ["x"] }] }, []],
    [
      "all subresources of one, which no rule can say",
      {
        resources: [
          { ...pods, resources: ["pods", "pods/*"] },
          { ...pods, resources: ["x/*"] },
        ],
      },
      [onPods],
    ],
  ])("that name %s", (_what, rule, opens) => {
    expect(tellsOf({ verbs: ["get"], ...rule })).toEqual(opens);
  });

  test("without verbs allow all of them", () => {
    expect(tellsOf({ resources: [pods] })).toEqual([{ ...onPods, verbs: ["*"] }]);
  });

  test("do not cover cluster-scoped resources such as access keys with a star", () => {
    const all = { ...pods, resources: ["*", "pods"] };
    expect(tellsOf({ verbs: ["get"], resources: [all] }, "")).toEqual([onPods]);
    expect(tellsOf({ verbs: ["get"], resources: [all] })).toEqual([{ ...onPods, resources: ["*", "pods"] }]);
    expect(tellsOf({ verbs: ["get"], resources: [{ ...pods, resources: [] }] }, "")).toEqual([]);
    expect(tellsOf({ verbs: ["get"] }, "")).toEqual([onPaths("*")]);
  });

  test("about no namespace are not about every one (security book 2)", () => {
    expect(tellsOf({ resources: [pods], namespaces: [""] }, "")).toEqual([]);
    expect(tellsOf({ resources: [pods], namespaces: ["p-a", ""] }, "")).toEqual([]);
  });
});

test("each part is reported separately", () => {
  const [first, second] = [{ verbs: ["get"] }, { verbs: ["list"] }].map((rule) => ruled(rule).ruleSets[0] ?? []);
  const both = { scope: emptyScope, ruleSets: [first ?? [], second ?? []] };
  expect(told(both, "").length).toBe(3);
  expect(told({ scope: undefined, ruleSets: [first ?? []] }, "").length).toBe(1);
  expect(restrictionRules({ scope: undefined, ruleSets: [] }, "p-a", context)).toEqual([ALWAYS]);
});

import { restrictionNames, restrictionsOf } from "@postern/api/access-key-restrictions";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPermissionSubset } from "./permission-subset.ts";

const NAMES = restrictionNames("postern");
const of = (spec: any) => restrictionsOf(spec, NAMES);
const scope = (entries: object) => of({ scope: entries });
const rules = (...list: object[]) => of({ rules: list });

describe("restrictionsOf", () => {
  it.each([
    ["no scope and no rules", {}, undefined],
    ["an empty list of rules", { rules: [] }, undefined],
    ["the flag alone", { allowPlatformCli: true }, undefined],
  ])("is undefined with %s", (_what, spec, restrictions) => expect(of(spec)).toBe(restrictions));

  it("allows nothing with an empty scope", () => {
    const empty = { roles: [], projects: [], spaces: [], virtualClusters: [], clusters: [] };
    expect(scope({})).toEqual({ scope: empty, ruleSets: [] });
    expect(scope({ rules: [] })?.scope).toEqual(empty);
    expect(of({ scope: {}, rules: [{ verbs: ["get"] }] })?.scope).toEqual(empty);
  });

  it("keeps rules of both places apart, so that both apply", () => {
    const both = of({ rules: [{ verbs: ["get"] }], scope: { rules: [{ verbs: ["list"] }] } });
    expect(both?.scope).toBe(undefined);
    expect(both?.ruleSets.map((set) => set[0]?.verbs)).toEqual([["get"], ["list"]]);
  });

  it.each([["allowPlatformCli"], ["allowPosternCli"]])("reads %s as the role platform-cli", (flag) => {
    const spec = flag === "allowPlatformCli" ? { scope: {}, [flag]: true } : { scope: { [flag]: true } };
    expect(of(spec)?.scope?.roles).toEqual([{ role: "platform-cli", projects: [], virtualClusters: [] }]);
  });

  it("does not allow more than the rules with the flag", () => {
    const flagged = of({ scope: { allowPosternCli: true, rules: [{ verbs: ["get"] }] } });
    expect(flagged?.scope).toBe(undefined);
    expect(flagged?.ruleSets.length).toBe(1);
  });
});

describe("isPermissionSubset", () => {
  const project = (name: string) => ({ project: name });
  it.each([
    ["nothing given, nothing taken", undefined, undefined, true],
    ["full in narrowed", undefined, scope({}), false],
    ["narrowed in full", scope({}), undefined, true],
    ["the same project", scope({ projects: [project("a")] }), scope({ projects: [project("a")] }), true],
    ["a project in all", scope({ projects: [project("a")] }), scope({ projects: [project("*")] }), true],
    ["all projects in one", scope({ projects: [project("*")] }), scope({ projects: [project("a")] }), false],
    ["another case", scope({ projects: [project("A")] }), scope({ projects: [project("a")] }), false],
    [
      "a virtual cluster in its project",
      scope({ virtualClusters: [{ project: "a", virtualCluster: "v" }] }),
      scope({ projects: [project("a")] }),
      true,
    ],
    [
      "a virtual cluster in another project",
      scope({ virtualClusters: [{ project: "b", virtualCluster: "v" }] }),
      scope({ projects: [project("a")], virtualClusters: [{ project: "a", virtualCluster: "*" }] }),
      false,
    ],
    ["a role with less in it", scope({ roles: [{ role: "agent" }] }), scope({ roles: [{ role: "vcluster" }] }), false],
    ["an implied role", scope({ roles: [{ role: "network-peer" }] }), scope({ roles: [{ role: "agent" }] }), true],
    [
      "a role that names what the parent leaves open",
      scope({ roles: [{ role: "vcluster", projects: ["a"] }] }),
      scope({ roles: [{ role: "vcluster" }] }),
      false,
    ],
    ["rules in the same rules", rules({ verbs: ["get"] }), rules({ verbs: ["get", "list"] }), true],
    ["every verb in one", rules({}), rules({ verbs: ["get"] }), false],
    ["a scope in rules", scope({ projects: [project("a")] }), rules({ verbs: ["get"] }), false],
    ["paths in paths below", rules({ nonResourceURLs: ["/a/b"] }), rules({ nonResourceURLs: ["/a/*"] }), true],
    ["everything in paths", rules({ resources: [{ group: "" }] }), rules({ nonResourceURLs: ["*"] }), false],
    [
      "named objects in all",
      rules({ resources: [{ group: "g", resources: ["r"], resourceNames: ["n"] }] }),
      rules({ resources: [{ group: "g", resources: ["*"] }] }),
      true,
    ],
    [
      "rules that meet only one of two sets",
      rules({ verbs: ["get"] }),
      of({ rules: [{ verbs: ["get"] }], scope: { rules: [{ verbs: ["list"] }] } }),
      false,
    ],
  ])("%s", (_what, child, parent, expected) => expect(isPermissionSubset(child, parent)).toBe(expected));

  const one = (entry: object) => rules({ resources: [entry] });
  it.each([
    [
      "a scope of roles in one of projects",
      scope({ roles: [{ role: "agent" }] }),
      scope({ projects: [project("a")] }),
      false,
    ],
    [
      "one of two projects",
      scope({ projects: [project("a")] }),
      scope({ projects: [project("b"), project("a")] }),
      true,
    ],
    [
      "two projects in one",
      scope({ projects: [project("a"), project("b")] }),
      scope({ projects: [project("a")] }),
      false,
    ],
    ["a cluster in it", scope({ clusters: [{ cluster: "c" }] }), scope({ clusters: [{ cluster: "c" }] }), true],
    ["a cluster in another", scope({ clusters: [{ cluster: "c" }] }), scope({ clusters: [{ cluster: "d" }] }), false],
    ["a cluster in all", scope({ clusters: [{ cluster: "c" }] }), scope({ clusters: [{ cluster: "*" }] }), true],
    ["a cluster in projects", scope({ clusters: [{ cluster: "a" }] }), scope({ projects: [project("*")] }), false],
  ])("of scopes: %s", (_what, child, parent, expected) => expect(isPermissionSubset(child, parent)).toBe(expected));

  it.each(["spaces", "virtualClusters"])("of %s: by project and name", (list) => {
    const kind = list === "spaces" ? "space" : "virtualCluster";
    const entry = (inProject: string, called: string) => ({ [list]: [{ project: inProject, [kind]: called }] });
    const within = (child: object, parent: object) => isPermissionSubset(scope(child), scope(parent));
    expect(within(entry("a", "n"), entry("a", "n"))).toBe(true);
    expect(within(entry("a", "n"), entry("*", "*"))).toBe(true);
    expect(within(entry("a", "n"), entry("a", "m"))).toBe(false);
    expect(within(entry("a", "n"), entry("b", "n"))).toBe(false);
    expect(within(entry("a", "n"), { projects: [project("a")] })).toBe(true);
    expect(within(entry("a", "n"), { projects: [project("b")] })).toBe(false);
    expect(within({ projects: [project("a")] }, entry("a", "*"))).toBe(false);
    const other = list === "spaces" ? "virtualClusters" : "spaces";
    expect(within({ [other]: [{ project: "a", space: "n", virtualCluster: "n" }] }, entry("a", "n"))).toBe(false);
  });

  it.each<readonly [child: object, parent: object, expected: boolean]>([
    [{ role: "agent" }, { role: "agent" }, true],
    [{ role: "agent" }, { role: "network-peer" }, false],
    [{ role: "network-peer" }, { role: "vcluster" }, true],
    [{ role: "network-peer" }, { role: "workspace" }, false],
    [{ role: "network-peer" }, { role: "network-peer" }, true],
    [{ role: "metrics-reader" }, { role: "agent" }, false],
    [{ role: "agent", projects: ["a"] }, { role: "agent", projects: ["a", "b"] }, true],
    [{ role: "agent", projects: ["a"] }, { role: "agent", projects: ["*"] }, true],
    [{ role: "agent", projects: ["a", "b"] }, { role: "agent", projects: ["a"] }, false],
    [{ role: "agent" }, { role: "agent", projects: ["a"] }, false],
    [{ role: "agent", projects: ["a"] }, { role: "agent" }, false],
    [{ role: "agent", virtualClusters: ["v"] }, { role: "agent", virtualClusters: ["v"] }, true],
    [{ role: "agent", virtualClusters: ["v"] }, { role: "agent", virtualClusters: ["w"] }, false],
    [{ role: "agent" }, { role: "agent", virtualClusters: ["v"] }, false],
  ])("of roles: %j in %j is %s", (child, parent, expected) => {
    expect(isPermissionSubset(scope({ roles: [child] }), scope({ roles: [{ role: "workspace" }, parent] }))).toBe(
      expected,
    );
  });

  it.each<readonly [child: object, parent: object, expected: boolean]>([
    [{ namespaces: ["n"] }, { namespaces: ["n", "m"] }, true],
    [{ namespaces: ["n", "m"] }, { namespaces: ["n"] }, false],
    [{}, { namespaces: ["n"] }, false],
    [{ namespaces: ["n"] }, {}, true],
    [{ requestTargets: ["Cluster"] }, { requestTargets: ["Cluster", "Management"] }, true],
    [{ requestTargets: ["Cluster"] }, { requestTargets: ["Management"] }, false],
    [{}, { requestTargets: ["Management"] }, false],
    [{ cluster: "c" }, { cluster: "c" }, true],
    [{ cluster: "c" }, {}, true],
    [{ cluster: "c" }, { cluster: "d" }, false],
    [{}, { cluster: "c" }, false],
    [{ virtualClusters: [{ name: "v", namespace: "n" }] }, { virtualClusters: [{ name: "v", namespace: "n" }] }, true],
    [{ virtualClusters: [{ name: "v", namespace: "n" }] }, { virtualClusters: [{ name: "*", namespace: "" }] }, true],
    [{ virtualClusters: [{ name: "v", namespace: "n" }] }, { virtualClusters: [{ name: "", namespace: "*" }] }, true],
    [{ virtualClusters: [{ name: "v", namespace: "n" }] }, { virtualClusters: [{ name: "w", namespace: "n" }] }, false],
    [{ virtualClusters: [{ name: "v", namespace: "n" }] }, { virtualClusters: [{ name: "v", namespace: "m" }] }, false],
    [{ virtualClusters: [{ name: "", namespace: "n" }] }, { virtualClusters: [{ name: "v", namespace: "n" }] }, false],
    [{}, { virtualClusters: [{ name: "v", namespace: "n" }] }, false],
    [{ verbs: ["get"] }, {}, true],
    [{ verbs: ["*"] }, { verbs: ["get"] }, false],
    [{ nonResourceURLs: ["/a"] }, {}, true],
    [{ nonResourceURLs: ["/a"] }, { nonResourceURLs: ["*"] }, true],
    [{ nonResourceURLs: ["/a"] }, { nonResourceURLs: ["/a"] }, true],
    [{ nonResourceURLs: ["/ab"] }, { nonResourceURLs: ["/a"] }, false],
    [{ nonResourceURLs: ["/ab"] }, { nonResourceURLs: ["/a/*"] }, false],
    [{ nonResourceURLs: ["/a"] }, { nonResourceURLs: ["/a/*"] }, false],
    [{ nonResourceURLs: ["/ab"] }, { nonResourceURLs: ["/a*"] }, false],
    [{ nonResourceURLs: ["/a", "/b"] }, { nonResourceURLs: ["/a"] }, false],
    [{}, { nonResourceURLs: ["/a"] }, false],
    [{ nonResourceURLs: ["/a"] }, { resources: [{ group: "g" }] }, false],
    [{ resources: [{ group: "g" }] }, {}, true],
    [{}, { resources: [{ group: "g" }] }, false],
    [
      { resources: [{ group: "g" }], nonResourceURLs: ["/a"] },
      { resources: [{ group: "g" }], nonResourceURLs: ["/a"] },
      true,
    ],
    [{ resources: [{ group: "g" }], nonResourceURLs: ["/a"] }, { resources: [{ group: "g" }] }, false],
  ])("of rules: %j in %j is %s", (child, parent, expected) => {
    expect(isPermissionSubset(rules(child), rules(parent))).toBe(expected);
    // One rule of the parent is enough, each of the child must be in one.
    expect(isPermissionSubset(rules(child), rules({ verbs: ["x"] }, parent))).toBe(expected);
    expect(isPermissionSubset(rules({ verbs: ["x"] }, child), rules({ verbs: ["x"] }, parent))).toBe(expected);
  });

  it.each<readonly [child: object, parent: object, expected: boolean]>([
    [{ group: "g", resources: ["r"] }, { group: "g", resources: ["r", "q"] }, true],
    [{ group: "g", resources: ["r"] }, { group: "h", resources: ["r"] }, false],
    [{ group: "g", resources: ["r"] }, { group: "g", resources: ["q"] }, false],
    [{ group: "g", resources: ["r", "q"] }, { group: "g", resources: ["r"] }, false],
    [{ group: "g" }, { group: "g", resources: ["r"] }, false],
    [{ group: "g", resources: ["r"] }, { group: "g" }, true],
    [{ group: "g", resources: ["r/s"] }, { group: "g", resources: ["r"] }, false],
    [{ group: "g", resources: ["r/s"] }, { group: "g", resources: ["*"] }, true],
    [{ group: "g", resources: ["r"] }, { group: "g", resources: ["r"], resourceNames: ["n"] }, false],
    [
      { group: "g", resources: ["r"], resourceNames: ["n"] },
      { group: "g", resources: ["r"], resourceNames: ["m"] },
      false,
    ],
    [
      { group: "g", resources: ["r"], resourceNames: ["n"] },
      { group: "g", resources: ["r"], resourceNames: ["m", "n"] },
      true,
    ],
  ])("of resources: %j in %j is %s", (child, parent, expected) => {
    expect(isPermissionSubset(one(child), one(parent))).toBe(expected);
    expect(isPermissionSubset(one(child), rules({ resources: [{ group: "x" }, parent] }))).toBe(expected);
    expect(isPermissionSubset(rules({ resources: [parent, child] }), one(parent))).toBe(expected);
  });

  it.each([
    "ownedaccesskeys",
    "ownedaccesskeys/rotate",
    "accesskeys",
    "users/accesskeys",
    "users/credentials",
    "users/*",
    "teams/accesskeys",
    "teams/credentials",
    "teams/*",
  ])("%s is within rules that name it, and not within rules that name nothing (security book 2)", (resource) => {
    const keys = { group: "g", resources: [resource] };
    expect(isPermissionSubset(one(keys), one(keys))).toBe(true);
    expect(
      isPermissionSubset(one({ group: "g", resources: ["r", resource] }), one({ group: "g", resources: ["*"] })),
    ).toBe(false);
    for (const parent of [
      rules({}),
      rules({ nonResourceURLs: ["*"] }),
      one({ group: "g" }),
      one({ group: "g", resources: ["*"] }),
    ]) {
      expect(isPermissionSubset(one(keys), parent)).toBe(false);
    }
  });

  it.each(["users", "teams", "users/status", "projects/accesskeys", "projects/*", "keys"])(
    "%s names no access keys",
    (resource) => {
      const child = one({ group: "g", resources: [resource] });
      for (const parent of [rules({}), one({ group: "g" }), one({ group: "g", resources: ["*"] })]) {
        expect(isPermissionSubset(child, parent)).toBe(true);
      }
    },
  );

  it("asks every set of the parent, and one rule set of the child for each", () => {
    const sets = (...verbs: readonly string[][]) =>
      of({
        rules: verbs[0]?.map((verb) => ({ verbs: [verb] })),
        scope: { rules: verbs[1]?.map((verb) => ({ verbs: [verb] })) },
      });
    expect(isPermissionSubset(sets(["get"], ["list"]), sets(["get"], ["list"]))).toBe(true);
    expect(isPermissionSubset(sets(["list"], ["get"]), sets(["get"], ["list"]))).toBe(true);
    expect(isPermissionSubset(sets(["get"], ["watch"]), sets(["get"], ["list"]))).toBe(false);
    expect(isPermissionSubset(scope({}), scope({}))).toBe(true);
    const narrowed = { rules: [{ verbs: ["get"] }] };
    const both = of({ ...narrowed, scope: { projects: [project("a")] } });
    expect(isPermissionSubset(both, scope({ projects: [project("a")] }))).toBe(true);
    expect(isPermissionSubset(both, scope({ projects: [project("b")] }))).toBe(false);
    expect(isPermissionSubset(of(narrowed), scope({ projects: [project("a")] }))).toBe(false);
    expect(isPermissionSubset(scope({ projects: [project("a")] }), both)).toBe(false);
    expect(isPermissionSubset(both, of(narrowed))).toBe(true);
  });

  const name = fc.constantFrom("a", "b", "*");
  const anySpec = fc.record({
    scope: fc.option(
      fc.record({
        projects: fc.array(fc.record({ project: name }), { maxLength: 2 }),
        clusters: fc.array(fc.record({ cluster: name }), { maxLength: 2 }),
        roles: fc.array(
          fc.record({
            role: fc.constantFrom("agent", "vcluster", "network-peer"),
            projects: fc.array(name, { maxLength: 2 }),
          }),
          { maxLength: 2 },
        ),
      }),
      { nil: undefined },
    ),
    rules: fc.array(fc.record({ verbs: fc.array(fc.constantFrom("get", "list"), { maxLength: 2 }) }), { maxLength: 2 }),
  });

  it("is reflexive and transitive", () => {
    fc.assert(
      fc.property(anySpec, anySpec, anySpec, (one, two, three) => {
        const [a, b, c] = [of(one), of(two), of(three)];
        expect(isPermissionSubset(a, a)).toBe(true);
        if (isPermissionSubset(a, b) && isPermissionSubset(b, c)) expect(isPermissionSubset(a, c)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a selector within another", () => {
  const of = (virtualCluster: string, selector?: object) =>
    scope({ virtualClusters: [{ project: "a", virtualCluster, ...(selector === undefined ? {} : { selector }) }] });
  const dev = { matchLabels: { env: "dev" } };
  it.each([
    ["the same", of("", dev), of("", dev), true],
    ["one more label", of("", { matchLabels: { env: "dev", tier: "x" } }), of("", dev), true],
    ["one label fewer", of("", dev), of("", { matchLabels: { env: "dev", tier: "x" } }), false],
    ["in all", of("", dev), of("*"), true],
    ["in the whole project", of("", dev), scope({ projects: [{ project: "a" }] }), true],
    ["in one name", of("", dev), of("v1"), false],
    ["in no name", of("", dev), of(""), false],
    ["a name, whatever its labels", of("v1"), of("", dev), false],
    ["a name with the labels", of("v1", dev), of("", dev), true],
    ["a name with the labels in that name", of("v1", dev), of("v1"), true],
    ["another name", of("v2", dev), of("v1", dev), false],
    ["all in one selector", of("*"), of("", dev), false],
    ["another project", scope({ virtualClusters: [{ project: "b", selector: dev }] }), of("", dev), false],
    ["an empty selector, which selects nothing", of("", {}), of("", dev), false],
    ["in an empty selector", of("", dev), of("", {}), false],
    ["what cannot be read", of("", { matchExpressions: [{ key: "env", operator: "Above" }] }), of("", dev), false],
    ["in what cannot be read", of("", dev), of("", { matchExpressions: [{ key: "env", operator: "Above" }] }), false],
  ])("%s", (_what, child, parent, expected) => expect(isPermissionSubset(child, parent)).toBe(expected));

  it("counts as within only where no labels meet it alone, over all selectors of two requirements", () => {
    const values = ["x", "y"];
    const one = ["In", "NotIn"].flatMap((operator) =>
      [["x"], ["y"], values].map((list) => ({ operator, values: list })),
    );
    const requirements = ["k", "l"].flatMap((key) =>
      [...one, { operator: "Exists" }, { operator: "DoesNotExist" }].map((rest) => ({ key, ...rest })),
    );
    const selectors = requirements.flatMap((first, at) => [
      [first],
      ...requirements.slice(at + 1).map((second) => [first, second]),
    ]);
    const worlds = [undefined, "x", "y", "z"].flatMap((k) =>
      [undefined, "x", "z"].map((l) => ({ ...(k === undefined ? {} : { k }), ...(l === undefined ? {} : { l }) })),
    );
    const meets = (labels: any, { key, operator, values: list = [] }: any): boolean => {
      if (operator === "Exists") return key in labels;
      if (operator === "DoesNotExist") return !(key in labels);
      return (key in labels && list.includes(labels[key])) === (operator === "In");
    };
    const all = selectors.map((list) => ({
      restrictions: of("", { matchExpressions: list }),
      reached: worlds.map((labels) => list.every((each) => meets(labels, each))),
    }));
    let within = 0;
    for (const child of all)
      for (const parent of all) {
        if (!isPermissionSubset(child.restrictions, parent.restrictions)) continue;
        within++;
        expect(child.reached.every((isReached, at) => !isReached || parent.reached[at])).toBe(true);
      }
    expect(within).toBeGreaterThan(all.length);
  });
});

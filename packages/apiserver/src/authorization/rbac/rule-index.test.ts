import { runSteps } from "@postern/apimachinery/steps/steps";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AuthorizationAttributes } from "../authorizer.ts";
import type { PolicyRule } from "./policy-rule.ts";
import { createRbacAuthorizer } from "./rbac-authorizer.ts";
import { RbacIndex } from "./rbac-index.ts";
import { pathMatches } from "./rule-attributes.ts";
import { breakDown, HeldRules, MAX_COMPARISONS, uncoveredRules, uncoveredRulesInSteps } from "./rule-coverage.ts";
import { PathPatterns, RuleIndex } from "./rule-index.ts";
import { ruleAllows } from "./testing/rule-oracle.ts";

const some = (values: readonly string[]) => fc.subarray([...values], { minLength: 0, maxLength: 3 });
const rule: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: some(["get", "list", "*"]),
  apiGroups: some(["", "apps", "*"]),
  resources: some(["pods", "pods/status", "*/status", "*", "jobs", "*/"]),
  resourceNames: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, some(["a", "b", "*"])),
  nonResourceURLs: some(["/x", "/x/*", "*", "/x*y", "/x**", "/"]),
});
const request: fc.Arbitrary<AuthorizationAttributes> = fc.record({
  user: fc.constant({ name: "u", groups: [] }),
  verb: fc.constantFrom("get", "list", "create", "*"),
  isResourceRequest: fc.boolean(),
  apiGroup: fc.constantFrom("", "apps", "*"),
  apiVersion: fc.constant("v1"),
  resource: fc.constantFrom("pods", "jobs", "*"),
  subresource: fc.constantFrom("", "status"),
  namespace: fc.constant(""),
  name: fc.constantFrom("", "a", "b", "*"),
  path: fc.constantFrom("/x", "/x/y", "/y", "/x*y", "/", ""),
});
const RULE: PolicyRule = {
  verbs: ["get"],
  apiGroups: [""],
  resources: ["pods"],
  resourceNames: [],
  nonResourceURLs: [],
};
const numbered = (count: number, prefix: string) => Array.from({ length: count }, (_, at) => `${prefix}${at}`);
const ask = (parts: Partial<AuthorizationAttributes> = {}): AuthorizationAttributes => ({
  user: { name: "u", groups: [] },
  verb: "get",
  isResourceRequest: true,
  apiGroup: "",
  apiVersion: "v1",
  resource: "secrets",
  subresource: "",
  namespace: "a",
  name: "x",
  path: "",
  ...parts,
});

describe("RuleIndex", () => {
  it("allows and names what a look at every rule does", () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), request, (rules, asked) => {
        const index = new RuleIndex(rules);
        expect(index.allows(asked)).toBe(rules.some((each) => ruleAllows(each, asked)));
        if (!asked.isResourceRequest) return;
        const open = rules.filter((each) => ruleAllows({ ...each, resourceNames: [] }, asked));
        const all = open.some(({ resourceNames }) => resourceNames.length === 0);
        const names = new Set(all ? [] : open.flatMap(({ resourceNames }) => resourceNames));
        expect(index.namesFor(asked)).toEqual({ all, some: names });
      }),
      { numRuns: 2_000 },
    );
  });

  it("matches paths as a look at every pattern does", () => {
    const text = fc.string({ unit: fc.constantFrom("/", "a", "*"), maxLength: 5 });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), text, (urls, path) => {
        expect(new PathPatterns(urls).match(path)).toBe(urls.some((url) => pathMatches(url, path)));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each<[string, (count: number) => readonly PolicyRule[], Partial<AuthorizationAttributes>]>([
    [
      "resources",
      (count) => numbered(count, "r").map((name) => ({ ...RULE, resources: [name] })),
      { resource: "r1", verb: "x" },
    ],
    [
      "names",
      (count) => numbered(count, "n").map((name) => ({ ...RULE, resourceNames: [name] })),
      { resource: "pods" },
    ],
    ["equal rules", (count) => Array<PolicyRule>(count).fill(RULE), { resource: "pods", verb: "list" }],
    [
      "paths",
      (count) => numbered(count, "/p").map((url) => ({ ...RULE, resources: [], nonResourceURLs: [url, `${url}*`] })),
      { isResourceRequest: false, path: "/q" },
    ],
    [
      "subresources",
      (count) => numbered(count, "s").map((name) => ({ ...RULE, resources: [`*/${name}`] })),
      { subresource: "none" },
    ],
  ])("visits no more of twice as many rules about different %s", (_what, rulesOf, asked) => {
    const visited = (count: number): number => {
      const index = new RuleIndex(rulesOf(count));
      expect(index.allows(ask(asked))).toBe(false);
      return index.visited;
    };
    expect(visited(2_000)).toBe(visited(1_000));
    expect(visited(1_000)).toBeLessThanOrEqual(1);
  });
});

describe("decisions about one user", () => {
  const visitedFor = (bindings: number, edit: (index: RbacIndex) => void = () => {}): number => {
    const index = new RbacIndex();
    index.setRole(
      "a",
      "r",
      numbered(500, "v").map((verb) => ({ ...RULE, verbs: [verb] })),
    );
    for (const name of numbered(bindings, "b")) {
      const subjects = [
        { kind: "User", name: "u", namespace: "" },
        { kind: "Group", name: "g", namespace: "" },
      ];
      index.setBinding({ name, namespace: "a", subjects, roleRef: { apiGroup: "", kind: "Role", name: "r" } });
    }
    edit(index);
    const user = { name: "u", groups: ["g"] };
    const authorizer = createRbacAuthorizer({ source: index });
    const asked = ask({ user, resource: "pods", verb: "no" });
    expect(authorizer.authorize(asked).verdict).toBe("no-opinion");
    expect(authorizer.rulesFor(user, "a").resourceRules).toHaveLength(500);
    const role = index.rulesOf({ apiGroup: "", kind: "Role", name: "r" }, "a");
    return (role?.visited ?? 0) + index.grantsToUser("a", "u").length + index.grantsToGroup("a", "g").length;
  };

  it("cost the same whatever the number of bindings to a role, also after edits", () => {
    expect(visitedFor(400)).toBe(visitedFor(200));
    const edit = (index: RbacIndex) => {
      for (const name of numbered(100, "b")) index.removeBinding("a", name);
    };
    expect(visitedFor(400, edit)).toBe(visitedFor(200));
  });

  it("know who a changed role is bound to without a list of its subjects", () => {
    const index = new RbacIndex();
    const subjects = [{ kind: "Group", name: "g", namespace: "" }];
    index.setBinding({
      name: "b",
      namespace: "a",
      subjects,
      roleRef: { apiGroup: "", kind: "ClusterRole", name: "r" },
    });
    const { version } = index;
    index.setRole("", "r", [RULE]);
    const role = { kind: "ClusterRole", name: "r", namespace: "" };
    expect(index.changesSince(version)).toEqual([{ role }]);
    expect(index.isBoundTo(role, { name: "u", groups: ["g"] })).toBe(true);
    expect(index.isBoundTo(role, { name: "g", groups: [] })).toBe(false);
    expect(index.isBoundTo({ ...role, kind: "Role", namespace: "a" }, { name: "u", groups: ["g"] })).toBe(false);
  });

  it("forget whom changes concerned where these name very many", () => {
    const index = new RbacIndex();
    const subjects = numbered(15_000, "u").map((name) => ({ kind: "User", name, namespace: "" }));
    const set = (name: string) =>
      index.setBinding({ name, namespace: "a", subjects, roleRef: { apiGroup: "", kind: "Role", name: "r" } });
    const { version } = index;
    set("one");
    expect(index.changesSince(version)).toHaveLength(1);
    set("two");
    expect(index.changesSince(version)).toBeUndefined();
  });
});

describe("the escalation check", () => {
  const covers = (held: PolicyRule, wanted: PolicyRule): boolean => {
    const hasAll = (list: readonly string[], all: readonly string[]) =>
      list.includes("*") || all.every((value) => list.includes(value));
    return (
      hasAll(held.verbs, wanted.verbs) &&
      hasAll(held.apiGroups, wanted.apiGroups) &&
      wanted.resources.every(
        (resource) =>
          held.resources.includes("*") ||
          held.resources.includes(resource) ||
          (resource.includes("/") && held.resources.includes(`*${resource.slice(resource.indexOf("/"))}`)),
      ) &&
      (held.resourceNames.length === 0 ||
        (wanted.resourceNames.length > 0 && wanted.resourceNames.every((name) => held.resourceNames.includes(name)))) &&
      wanted.nonResourceURLs.every((url) => held.nonResourceURLs.some((each) => pathMatches(each, url)))
    );
  };

  it("finds through its index what a comparison of every rule with every other finds", () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), fc.array(rule, { maxLength: 3 }), (held, wanted) => {
        const isCovered = (each: PolicyRule): boolean => held.some((own) => covers(own, each));
        const expected = wanted
          .filter((each) => !isCovered(each))
          .flatMap(breakDown)
          .filter((each) => !isCovered(each));
        expect(uncoveredRules(held, wanted)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each<[string, (name: string) => Partial<PolicyRule>]>([
    ["verbs", (name) => ({ verbs: [name] })],
    ["groups", (name) => ({ apiGroups: [name] })],
    ["resources", (name) => ({ resources: [name] })],
    ["subresources", (name) => ({ resources: [`pods/${name}`] })],
    ["names", (name) => ({ resourceNames: [name] })],
  ])("compares twice as often where both sides have twice as many %s", (_what, partOf) => {
    const comparisons = (count: number): number => {
      const rules = numbered(count, "x").map((name) => ({ ...RULE, ...partOf(name) }));
      const holders = new HeldRules();
      expect(runSteps(uncoveredRulesInSteps(rules, rules, holders))).toEqual([]);
      return holders.comparisons;
    };
    expect(comparisons(1_000)).toBeLessThanOrEqual(2 * comparisons(500));
  });

  it("gives up where rules are made to resemble each other, and then grants nothing", () => {
    const half = (at: number) => numbered(20, "v").filter((_, bit) => ((at * 2_654_435_761) >>> bit) % 2 === 0);
    const held = Array.from({ length: 2_000 }, (_, at) => ({ ...RULE, verbs: half(at + 1), apiGroups: ["a"] }));
    const wanted = numbered(2_000, "n").map(() => ({ ...RULE, verbs: numbered(20, "v"), apiGroups: ["a"] }));
    const holders = new HeldRules();
    expect(runSteps(uncoveredRulesInSteps(held, wanted, holders)).length).toBeGreaterThan(0);
    expect(holders.comparisons).toBeLessThanOrEqual(MAX_COMPARISONS + 50_000);
  });
});

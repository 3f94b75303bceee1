import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { restrictionNames, restrictionsOf } from "./access-key-restrictions.ts";
import { isWithin } from "./is-within.ts";

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

  it("opens nothing with an empty scope", () => {
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

  it("does not open more than the rules with the flag", () => {
    const flagged = of({ scope: { allowPosternCli: true, rules: [{ verbs: ["get"] }] } });
    expect(flagged?.scope).toBe(undefined);
    expect(flagged?.ruleSets.length).toBe(1);
  });
});

describe("isWithin", () => {
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
  ])("%s", (_what, child, parent, expected) => expect(isWithin(child, parent)).toBe(expected));

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
        expect(isWithin(a, a)).toBe(true);
        if (isWithin(a, b) && isWithin(b, c)) expect(isWithin(a, c)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

import { runSteps } from "@postern/apimachinery/steps/steps";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import fc from "fast-check";
import { expect, test } from "vitest";
import { intersectRules as intersectInSteps, MAX_VALUE_COMPARISONS } from "./intersect-rules.ts";

const intersectRules = (...lists: Parameters<typeof intersectInSteps>) => runSteps(intersectInSteps(...lists));
const onResources = (verbs: string, apiGroups: string, resources: string, names = ""): PolicyRule => ({
  verbs: words(verbs),
  apiGroups: words(apiGroups),
  resources: words(resources),
  resourceNames: words(names),
  nonResourceURLs: [],
});
const onPaths = (verbs: string, nonResourceURLs: string): PolicyRule => ({
  verbs: words(verbs),
  apiGroups: [],
  resources: [],
  resourceNames: [],
  nonResourceURLs: words(nonResourceURLs),
});
const words = (text: string): readonly string[] => (text === "" ? [] : text.split(" "));

test.each<[what: string, one: PolicyRule, other: PolicyRule, both: PolicyRule | undefined]>([
  ["the same", onResources("get", "g", "pods"), onResources("get", "g", "pods"), onResources("get", "g", "pods")],
  ["other verbs", onResources("get", "g", "pods"), onResources("list", "g", "pods"), undefined],
  ["other groups", onResources("get", "g", "pods"), onResources("get", "h", "pods"), undefined],
  ["other resources", onResources("get", "g", "pods"), onResources("get", "g", "nodes"), undefined],
  [
    "some verbs, groups and resources of several",
    onResources("get list", "g h", "pods nodes"),
    onResources("list watch", "h i", "nodes events"),
    onResources("list", "h", "nodes"),
  ],
  [
    "all verbs, groups and resources",
    onResources("*", "*", "*"),
    onResources("get", "g", "p"),
    onResources("get", "g", "p"),
  ],
  ["two stars", onResources("*", "*", "*"), onResources("*", "*", "*"), onResources("*", "*", "*")],
  ["a subresource, and none", onResources("get", "g", "pods/log"), onResources("get", "g", "pods"), undefined],
  [
    "a subresource of any resource",
    onResources("get", "g", "*/log"),
    onResources("get", "g", "pods/log pods/exec pods"),
    onResources("get", "g", "pods/log"),
  ],
  ["another letter for the star", onResources("get", "g", "x/log"), onResources("get", "g", "pods/log"), undefined],
  ["what merely ends alike", onResources("get", "g", "*s"), onResources("get", "g", "pods"), undefined],
  [
    "one resource by two ways",
    onResources("get", "g", "* pods"),
    onResources("get", "g", "pods"),
    onResources("get", "g", "pods"),
  ],
  [
    "all names, and one",
    onResources("get", "g", "p"),
    onResources("get", "g", "p", "a"),
    onResources("get", "g", "p", "a"),
  ],
  [
    "some names",
    onResources("get", "g", "p", "a b"),
    onResources("get", "g", "p", "b c"),
    onResources("get", "g", "p", "b"),
  ],
  ["other names", onResources("get", "g", "p", "a"), onResources("get", "g", "p", "b"), undefined],
  ["the same path", onPaths("get", "/x"), onPaths("get", "/x"), onPaths("get", "/x")],
  ["other paths", onPaths("get", "/x"), onPaths("get", "/y"), undefined],
  ["paths by other verbs", onPaths("get", "/x"), onPaths("head", "/x"), undefined],
  ["a path below another", onPaths("*", "/x/* /y"), onPaths("get", "/x/a /x/b /z"), onPaths("get", "/x/a /x/b")],
  ["a path by two ways", onPaths("get", "* /x"), onPaths("get", "/x"), onPaths("get", "/x")],
  ["paths and resources", onPaths("*", "*"), onResources("*", "*", "*"), undefined],
])("%s", (_what, one, other, both) => {
  const expected = both === undefined ? [] : [both];
  expect(intersectRules([one], [other])).toEqual(expected);
  expect(intersectRules([other], [one])).toEqual(expected);
});

test("each rule meets each", () => {
  const [get, list] = [onResources("get", "g", "p"), onResources("list", "g", "p")];
  expect(intersectRules([get, list], [list, get, onPaths("get", "/x")])).toEqual([get, list]);
  expect(intersectRules([], [get])).toEqual([]);
});

const many = (count: number, rule: (name: string) => PolicyRule): readonly PolicyRule[] =>
  Array.from({ length: count }, (_, at) => rule(`n${at}`));

test.each<[what: string, rule: (name: string) => PolicyRule, both: number]>([
  ["names", (name) => onResources("get", "g", "pods", name), 5_000],
  ["resources", (name) => onResources("get", "g", name), 5_000],
  ["subresources", (name) => onResources("get", "g", `pods/${name}`), 5_000],
  ["subresources of a star", (name) => onResources("get", "g", `*/${name}`), 5_000],
  ["paths", (name) => onPaths("get", `/${name}`), 5_000],
  ["nothing", () => onResources("get", "g", "pods"), 5_000],
])("rules of both sides that differ by %s are found without comparing all with all", (_what, rule, both) => {
  const budget = { left: MAX_VALUE_COMPARISONS };
  expect(intersectRules(many(5_000, rule), many(5_000, rule), budget)).toHaveLength(both);
  expect(MAX_VALUE_COMPARISONS - budget.left).toBeLessThanOrEqual(6 * 5_000);
});

test("long lists of one rule cost as much as the shorter of them", () => {
  const names = Array.from({ length: 5_000 }, (_, at) => `n${at}`);
  const rule = { ...onResources("get", "g", "pods"), resourceNames: names };
  const budget = { left: MAX_VALUE_COMPARISONS };
  expect(intersectRules([rule], [rule], budget)).toEqual([rule]);
  expect(MAX_VALUE_COMPARISONS - budget.left).toBeLessThan(2 * names.length);
});

test.each<[what: string, rule: (name: string) => PolicyRule]>([
  ["verbs", (name) => onResources(name, "g", "pods")],
  ["groups", (name) => onResources("get", name, "pods")],
  ["prefixes of paths", (name) => onPaths("get", `/${name}*`)],
])("rules of both sides that differ by %s are compared up to a limit, in steps", (_what, rule) => {
  const budget = { left: MAX_VALUE_COMPARISONS };
  const steps = intersectInSteps(many(5_000, rule), many(5_000, rule), budget);
  let most = 0;
  for (let left = budget.left; steps.next().done !== true; left = budget.left)
    most = Math.max(most, left - budget.left);
  expect(most).toBeLessThan(2_100);
  expect(budget.left).toBeLessThan(0);
  expect(budget.left).toBeGreaterThan(-100);
});

const SEED = Number(process.env["TEST_SEED"] ?? 1);

test(`all rules have in common what each has with each (seed ${SEED})`, () => {
  const some = (...values: readonly string[]) => fc.subarray([...values], { maxLength: 3 });
  const resource = fc.record({
    verbs: some("*", "get", "list", "put"),
    apiGroups: some("*", "g", "h"),
    resources: some("*", "a", "b", "a/s", "*/s", "*/t", "b/t"),
    resourceNames: some("x", "y", "z"),
    nonResourceURLs: fc.constant<string[]>([]),
  });
  const path = fc.record({
    verbs: some("*", "get", "put"),
    apiGroups: fc.constant<string[]>([]),
    resources: fc.constant<string[]>([]),
    resourceNames: fc.constant<string[]>([]),
    nonResourceURLs: some("*", "/a", "/a*", "/a/b", "/a/*", "/b"),
  });
  const rules = fc.array(fc.oneof(resource, path), { maxLength: 8 });
  const texts = (list: readonly PolicyRule[]) => new Set(list.map((rule) => JSON.stringify(rule)));
  let found = 0;
  fc.assert(
    fc.property(rules, rules, (left, right) => {
      const pairs = left.flatMap((one) => right.flatMap((other) => intersectRules([one], [other])));
      const both = intersectRules(left, right);
      found += both.length;
      expect(texts(both)).toEqual(texts(pairs));
    }),
    { seed: SEED, numRuns: 300 },
  );
  expect(found).toBeGreaterThan(0);
});

import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { expect, test } from "vitest";
import { intersectRules, MAX_VALUE_COMPARISONS } from "./effective-rules.ts";

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

test.each<[what: string, rule: (name: string) => PolicyRule]>([
  ["names", (name) => onResources("get", "g", "pods", name)],
  ["verbs", (name) => onResources(name, "g", "pods")],
  ["resources", (name) => onResources("get", "g", name)],
  ["paths", (name) => onPaths("get", `/${name}`)],
  ["equal rules", () => onResources("get", "g", "pods")],
])(
  "rules of both sides that differ by %s are compared up to a limit, and those beyond it are not told of",
  (_what, rule) => {
    const list = (count: number) => Array.from({ length: count }, (_, at) => rule(`n${at}`));
    const budget = { left: MAX_VALUE_COMPARISONS };
    const told = intersectRules(list(5_000), list(5_000), budget);
    expect(budget.left).toBeLessThan(0);
    expect(budget.left).toBeGreaterThan(-100);
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThan(MAX_VALUE_COMPARISONS);
  },
);

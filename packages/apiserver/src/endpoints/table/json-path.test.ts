import { describe, expect, it } from "vitest";
import { compileJsonPath, firstOf, JsonPathBudget, JsonPathBudgetError, jsonPathLimitFault } from "./json-path.ts";

const all = (path: string): readonly unknown[] => [...compileJsonPath(path)!(object, new JsonPathBudget(1_000))];

const object = {
  metadata: { labels: { "app.kubernetes.io/name": "web", plain: "x" }, "a.b": 1 },
  spec: { user: "alice", n: 0, list: ["a", "b", "c", "d"], nested: [[1, 2], [3]], empty: null },
  status: {
    conditions: [
      { type: "Synced", status: "False", weight: 3, last: { at: "t1" } },
      { type: "Ready", status: "True", weight: 5 },
    ],
  },
};

describe("a JSONPath", () => {
  it.each([
    [".spec.user", ["alice"]],
    ["spec.user", ["alice"]],
    ["{.spec.user}", ["alice"]],
    ["$.spec.user", ["alice"]],
    [".spec['user']", ["alice"]],
    ['.spec["user"]', ["alice"]],
    [".metadata.labels['app.kubernetes.io/name']", ["web"]],
    [".metadata.labels.app\\.kubernetes\\.io/name", ["web"]],
    [".metadata['a.b']", [1]],
    [".spec.n", [0]],
    [".spec.empty", [null]],
    [".spec.list[0]", ["a"]],
    [".spec.list[-1]", ["d"]],
    [".spec.list[9]", []],
    [".spec.list[1:3]", ["b", "c"]],
    [".spec.list[:2]", ["a", "b"]],
    [".spec.list[::2]", ["a", "c"]],
    [".spec.list[0,2]", ["a", "c"]],
    [".spec.list[*]", ["a", "b", "c", "d"]],
    [".spec.nested[*][0]", [1, 3]],
    [".spec['user','n']", ["alice", 0]],
    ['.status.conditions[?(@.type=="Ready")].status', ["True"]],
    [".status.conditions[?(@.type=='Ready')].status", ["True"]],
    ['.status.conditions[?(@.type == "Ready")].status', ["True"]],
    ['.status.conditions[?(@.type!="Ready")].status', ["False"]],
    [".status.conditions[?(@.weight>3)].type", ["Ready"]],
    [".status.conditions[?(@.weight<=3)].type", ["Synced"]],
    [".status.conditions[?(@.last)].type", ["Synced"]],
    ['.status.conditions[?(@.last.at=="t1")].type', ["Synced"]],
    ['.status.conditions[?(@.weight=="5")].type', []],
    [".status.conditions[*].type", ["Synced", "Ready"]],
    ["..at", ["t1"]],
    [".nope.deeper[0]", []],
    [".spec.user.more", []],
    [".spec.constructor", []],
    [".", [object]],
  ])("%s finds %j", (path, found) => expect(all(path)).toEqual(found));

  it.each([".spec[", ".a[?(@.b==x)]", ".a b", ".a[x]", ".a[1:2:0]", ".a[?(b)]", "{.a"])("%s is not one", (path) =>
    expect(compileJsonPath(path)).toBeUndefined(),
  );
});

/** `{a: [{b: {b: … }}]}`, with `depth` objects in each other. */
function nested(depth: number): any {
  let inner: any = { b: 1 };
  for (let i = 0; i < depth; i++) inner = { b: inner };
  return { spec: { a: [inner] } };
}

describe("the budget of a JSONPath", () => {
  const dots = ".".repeat(8);

  it.each([
    ["descendants in a filter", `.spec.a[?(@${dots}x)]`],
    ["descendants in a filter that compares", `.spec.a[?(@${dots}x==1)]`],
    ["descendants in a filter of a filter", `.spec[?(@[?(@${dots}x)])]`],
    ["descendants outside of filters", `${dots}x`],
    ["descendants after each other", "..b..b..b..b..b..b..b..b..x"],
  ])("ends %s", (_, path) => {
    const find = compileJsonPath(path)!;
    const budget = new JsonPathBudget(10_000);
    const object = path.startsWith(".spec[") ? { spec: [nested(24).spec.a] } : nested(24);
    expect(() => firstOf(find(object, budget))).toThrow(JsonPathBudgetError);
    expect(budget.spent).toBeLessThan(11_000);
  });

  it("ends unions that double", () => {
    const find = compileJsonPath(`.a${"[0,0]".repeat(20)}.x`)!;
    let list: any = { y: 1 };
    for (let i = 0; i < 20; i++) list = [list];
    expect(() => firstOf(find({ a: list }, new JsonPathBudget(10_000)))).toThrow(JsonPathBudgetError);
  });

  it("visits nothing behind the first match", () => {
    const items = Array.from({ length: 100_000 }, (_, i) => ({ name: `n${i}`, deep: nested(20) }));
    for (const path of [
      ".items[*].name",
      '.items[?(@.name=="n0")].name',
      "..name",
      ".items[0:].name",
      ".items[?(@..b)]",
    ]) {
      const budget = new JsonPathBudget(200_000);
      expect(firstOf(compileJsonPath(path)!({ items }, budget))).toBeDefined();
      expect(budget.spent).toBeLessThan(path === "..name" ? 100_200 : 50);
    }
  });

  it("counts the comparison of long texts", () => {
    const text = "x".repeat(64_000);
    const budget = new JsonPathBudget(2_000);
    const find = compileJsonPath(".a[?(@.t==@.u)]")!;
    const a = Array.from({ length: 10 }, () => ({ t: text, u: `${text}.` }));
    expect(() => firstOf(find({ a }, budget))).toThrow(JsonPathBudgetError);
  });

  it.each([
    [`.${"a".repeat(1_024)}`, "must have at most 1024 characters"],
    [".a".repeat(65), "must have at most 64 steps"],
    [`.a[?(@${".b".repeat(63)})]`, "must have at most 64 steps"],
    [`.a[${"0,".repeat(64)}0]`, "must have at most 64 steps"],
    [`.a[?(@.b==@${".c".repeat(62)})]`, "must have at most 64 steps"],
    [".a".repeat(64), undefined],
    ['.status.conditions[?(@.type=="Ready")].status', undefined],
  ])("limits the path %s", (path, fault) => {
    expect(jsonPathLimitFault(path)).toBe(fault);
    expect(compileJsonPath(path) === undefined).toBe(fault !== undefined);
  });
});

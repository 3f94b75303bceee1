import { describe, expect, it } from "vitest";
import { compileJsonPath } from "./json-path.ts";

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
  ])("%s finds %j", (path, found) => expect(compileJsonPath(path)!(object)).toEqual(found));

  it.each([".spec[", ".a[?(@.b==x)]", ".a b", ".a[x]", ".a[1:2:0]", ".a[?(b)]", "{.a"])("%s is not one", (path) =>
    expect(compileJsonPath(path)).toBeUndefined(),
  );
});

// Selectors of workloads that are wrong: the fields and reasons that kube-apiserver 1.24 answered.

import { describe, expect, it } from "vitest";
import { validateTemplate } from "./validate-pod.ts";

const template = {
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: "i:1" }], restartPolicy: "Always" },
};
const matchLabels = { app: "a" };
const expression = (requirement: object) => ({ matchLabels, matchExpressions: [requirement] });
const AT = "spec.selector.matchExpressions[0]";

describe("the selector of a workload", () => {
  it.each<[what: string, selector: any, fields: readonly string[]]>([
    ["finds the pods of its template", { matchLabels }, []],
    ["does so by an expression", expression({ key: "app", operator: "In", values: ["a"] }), []],
    ["is absent", undefined, ["spec.selector", "spec.template.metadata.labels"]],
    ["is empty", {}, ["spec.selector"]],
    ["finds others", { matchLabels: { app: "b" } }, ["spec.template.metadata.labels"]],
    ["has an expression of nothing", expression({}), [`${AT}.operator`, `${AT}.key`, `${AT}.key`, "spec.selector"]],
    [
      "has an expression of values alone",
      { matchExpressions: [{ values: ["x"] }] },
      [`${AT}.operator`, `${AT}.key`, `${AT}.key`, "spec.selector"],
    ],
    ["wants a value of none", expression({ key: "app", operator: "In" }), [`${AT}.values`, "spec.selector"]],
    [
      "gives values where none may be",
      expression({ key: "app", operator: "Exists", values: ["x"] }),
      [`${AT}.values`, "spec.selector"],
    ],
    ["has an unknown operator", expression({ key: "app", operator: "Nope" }), [`${AT}.operator`, "spec.selector"]],
    ["has a key that is none", { matchLabels: { "a b": "c" } }, ["spec.selector.matchLabels", "spec.selector"]],
    ["has a value that is none", { matchLabels: { app: "x y" } }, ["spec.selector.matchLabels", "spec.selector"]],
  ])("that %s", (_what, selector, fields) => {
    expect(validateTemplate({ spec: { selector, template } as any }).map(({ field }) => field)).toEqual(fields);
  });
});

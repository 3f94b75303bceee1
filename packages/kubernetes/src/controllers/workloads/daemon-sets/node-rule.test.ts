// On which Nodes pods run, by selectors, affinity and taints. The Kubernetes source of daemon_controller.go (1.36) has the rules.

import { describe, expect, test } from "vitest";
import { daemonTolerations } from "./daemon-set.ts";
import { fitTest } from "./node-rule.ts";

const node = (labels: Record<string, string> = {}, taints: readonly object[] = [], name = "n1") => ({
  name,
  labels,
  taints: taints as never,
});
const fit = (spec: object, on: ReturnType<typeof node>) => fitTest(spec as never)(on);
const required = (...nodeSelectorTerms: readonly object[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const expression = (operator: string, ...values: readonly string[]) => ({
  matchExpressions: [{ key: "size", operator, ...(values.length === 0 ? {} : { values }) }],
});

test.each([
  [{}, {}, "run"],
  [{ nodeName: "n1" }, {}, "run"],
  [{ nodeName: "n2" }, {}, "leave"],
  [{ nodeSelector: { disk: "ssd" } }, { disk: "ssd" }, "run"],
  [{ nodeSelector: { disk: "ssd" } }, { disk: "hdd" }, "leave"],
  [{ nodeSelector: { disk: "ssd" } }, {}, "leave"],
])("%j on a Node with the labels %j: %s", (spec, labels, expected) => {
  expect(fit(spec, node(labels))).toBe(expected);
});

test.each([
  ["In", ["1", "2"], ["2"], ["3", undefined]],
  ["NotIn", ["1", "2"], ["3", undefined], ["2"]],
  ["Exists", [], ["1", ""], [undefined]],
  ["DoesNotExist", [], [undefined], ["1"]],
  ["Gt", ["5"], ["6", "10"], ["5", "4", "x", undefined]],
  ["Lt", ["5"], ["4", "-1"], ["5", "6", "x", undefined]],
] as const)("%s %j", (operator, values, matching, others) => {
  const spec = required(expression(operator, ...values));
  const at = (value: string | undefined) => fit(spec, node(value === undefined ? {} : { size: value }));
  expect(matching.map(at)).toEqual(matching.map(() => "run"));
  expect(others.map(at)).toEqual(others.map(() => "leave"));
});

test("one of several terms is enough, and all of the requirements of one", () => {
  const both = {
    matchExpressions: [
      { key: "a", operator: "Exists" },
      { key: "b", operator: "Exists" },
    ],
  };
  const named = { matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }] };
  const spec = required(both, named);
  expect(fit(spec, node({ a: "" }))).toBe("leave");
  expect(fit(spec, node({ a: "", b: "" }))).toBe("run");
  expect(fit(spec, node({}, [], "n2"))).toBe("run");
  expect(fit(required({ matchFields: [{ ...named.matchFields[0], operator: "NotIn" }] }), node({}, [], "n2"))).toBe(
    "leave",
  );
});

test("terms without requirements select nothing, and neither do those that are not valid", () => {
  expect(fit(required({}), node())).toBe("leave");
  expect(fit(required(), node())).toBe("leave");
  expect(fit(required(expression("Gt", "x")), node({ size: "9" }))).toBe("leave");
  expect(fit(required(expression("Gt", "x"), expression("Exists")), node({ size: "9" }))).toBe("run");
});

describe("taints", () => {
  const noSchedule = { key: "a", value: "v", effect: "NoSchedule" };
  const noExecute = { ...noSchedule, effect: "NoExecute" };
  test.each([
    [[], [noSchedule], "stay"],
    [[], [noExecute], "leave"],
    [[], [{ key: "a", effect: "PreferNoSchedule" }], "run"],
    [[{ key: "a", operator: "Exists" }], [noSchedule, noExecute], "run"],
    [[{ key: "a", operator: "Exists", effect: "NoExecute" }], [noSchedule, noExecute], "stay"],
    [[{ key: "a", value: "v" }], [noExecute], "run"],
    [[{ key: "a", operator: "Equal", value: "w" }], [noExecute], "leave"],
    [[{ operator: "Exists" }], [noSchedule, noExecute], "run"],
    [[{ operator: "Exists", effect: "NoSchedule" }], [noExecute], "leave"],
    [[], [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }], "run"],
    [[], [{ key: "node.kubernetes.io/unreachable", effect: "NoSchedule" }], "stay"],
    [[], [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }], "run"],
    [[], [{ key: "node.kubernetes.io/network-unavailable", effect: "NoSchedule" }], "stay"],
  ])("%j on a Node with %j: %s", (tolerations, taints, expected) => {
    expect(fit({ tolerations }, node({}, taints))).toBe(expected);
  });

  test("pods in the network of the host tolerate a network that is unavailable", () => {
    const taints = [{ key: "node.kubernetes.io/network-unavailable", effect: "NoSchedule" }];
    expect(fit({ hostNetwork: true }, node({}, taints))).toBe("run");
  });

  test("a toleration of the template takes the place of the one that is added", () => {
    const own = { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 };
    const [first, ...others] = daemonTolerations({ tolerations: [own] } as never);
    expect(first).toEqual({ key: own.key, operator: "Exists", effect: "NoExecute" });
    expect(others).toHaveLength(5);
  });

  test("ten thousand of a Node and of a template are looked up, and not compared with each other", () => {
    const keys = Array.from({ length: 10_000 }, (_, at) => `k${at}`);
    const tolerations = keys.map((key) => ({ key, operator: "Exists" }));
    const taints = keys.toReversed().map((key) => ({ key, effect: "NoExecute" }));
    let reads = 0;
    const counted = taints.map((taint) => ({
      ...taint,
      get key() {
        reads++;
        return taint.key;
      },
    }));
    expect(fit({ tolerations }, node({}, counted))).toBe("run");
    expect(reads).toBeLessThan(4 * keys.length);
  });
});

// Selectors of workloads that are wrong: the fields and reasons that kube-apiserver 1.24 answered.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { describe, expect, it } from "vitest";
import { daemonSets, deployments, replicaSets, statefulSets } from "../apps/apps.ts";
import { podTemplates } from "./pods.ts";
import { validateSelectedTemplate } from "./validate-pod.ts";

const CLAIM = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
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
    expect(validateSelectedTemplate({ spec: { selector, template } as any }).map(({ field }) => field)).toEqual(fields);
  });
});

describe("the pods of a workload", () => {
  const selector = { matchLabels };
  const faults = (kind: ResourceDefinition, spec: object): string[] =>
    (kind.strategy as any)
      ?.validate?.({ ...kind.setDefaults?.({ metadata: {}, spec } as any) } as any, {} as any)
      .map(({ field, type }: any) => `${field} ${type}`);
  const mounting = (more: object = {}) => ({
    selector,
    template: {
      ...template,
      spec: { containers: [{ name: "c", volumeMounts: [{ name: "data", mountPath: "/data" }], ...more }] },
    },
  });
  const claims = { serviceName: "s", volumeClaimTemplates: [{ metadata: { name: "data" }, spec: CLAIM }] };

  it("of a StatefulSet mount its claims; those that were stored before they were checked stay", () => {
    expect(faults(statefulSets, { ...mounting({ image: "i" }), ...claims })).toEqual([]);
    const old: any = statefulSets.setDefaults?.({ metadata: { name: "a" }, spec: { ...mounting(), ...claims } } as any);
    const next = { ...old, spec: { ...old.spec, replicas: 2 } };
    expect((statefulSets.strategy as any).validateUpdate(next, old, { info: { subresource: "" } })).toEqual([]);
  });

  it.each([deployments, replicaSets, daemonSets, statefulSets])(
    "of a $kind have images, and volumes for what they mount",
    (kind) => {
      expect(faults(kind, mounting())).toEqual([
        "spec.template.spec.containers[0].image FieldValueRequired",
        "spec.template.spec.containers[0].volumeMounts[0].name FieldValueNotFound",
      ]);
    },
  );

  it.each([deployments, replicaSets, daemonSets, statefulSets])(
    "of a $kind start again always, without a deadline",
    (kind) => {
      const spec = { ...template.spec, restartPolicy: "Never", activeDeadlineSeconds: 5 };
      expect(faults(kind, { selector, template: { ...template, spec } })?.map((fault) => fault.split(" ")[0])).toEqual([
        "spec.template.spec.restartPolicy",
        "spec.template.spec.activeDeadlineSeconds",
      ]);
    },
  );

  it.each([deployments, replicaSets, daemonSets, statefulSets])(
    "of a $kind have labels and annotations that are valid",
    (kind) => {
      const metadata = { labels: { app: "a", "b c": "" }, annotations: { "d e": "" } };
      expect(
        faults(kind, { selector, template: { ...template, metadata } })?.map((fault) => fault.split(" ")[0]),
      ).toEqual(["spec.template.labels", "spec.template.annotations"]);
    },
  );

  it("of a PodTemplate are checked as those of a ReplicaSet, with any restart policy", () => {
    const check = (spec: object) =>
      (podTemplates.strategy as any)
        ?.validate?.(podTemplates.setDefaults?.({ metadata: {}, template: { spec } } as any) as any, {} as any)
        .map(({ field }: any) => field);
    expect(check({ containers: [{ name: "c", image: "i" }], restartPolicy: "Never" })).toEqual([]);
    expect(check({})).toEqual(["template.spec.containers"]);
    expect(check({ containers: [{ name: "c" }] })).toEqual(["template.spec.containers[0].image"]);
  });

  it("of a StatefulSet change, and its selector, claims and service do not", () => {
    const before: any = statefulSets.setDefaults?.({ metadata: {}, spec: { ...mounting(), ...claims } } as any);
    const change = (more: object) =>
      (statefulSets.strategy as any)
        ?.validateUpdate?.({ ...before, spec: { ...before.spec, ...more } }, before, {
          info: { subresource: "" },
        } as any)
        .map(({ field, type }: any) => `${field} ${type}`);
    expect(
      change({ replicas: 3, template: { ...before.spec.template, metadata: { labels: { ...matchLabels, v: "2" } } } }),
    ).toEqual([]);
    for (const fixed of [{ serviceName: "t" }, { volumeClaimTemplates: [] }, { podManagementPolicy: "Parallel" }])
      expect(change(fixed)).toEqual(["spec FieldValueForbidden"]);
  });
});

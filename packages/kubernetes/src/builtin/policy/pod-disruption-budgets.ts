// PodDisruptionBudgets: how many pods may be away at a time.
// Source: k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget/strategy.go, pkg/apis/policy/validation/validation.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import { validateLabelSelector } from "@postern/apimachinery/validation/labels";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin, mergedInPatches, replacedInPatches } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";
import { choiceFaults } from "../field-checks.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";
import { amountFaults, overFaults } from "../workloads/apps/validate-rollout.ts";
import { budgetStatusFaults } from "../workloads/apps/validate-status.ts";
import { statusStrategy } from "../workloads/status-strategy.ts";

const budgetFields = s.object({
  spec: s.object({
    minAvailable: s.intOrString(),
    maxUnavailable: s.intOrString(),
    selector: replacedInPatches(labelSelector),
    unhealthyPodEvictionPolicy: s.string(),
  }),
  status: s.object({
    observedGeneration: s.int64(),
    disruptedPods: s.map(s.timestamp()),
    disruptionsAllowed: s.int32(),
    currentHealthy: s.int32(),
    desiredHealthy: s.int32(),
    expectedPods: s.int32(),
    conditions: mergedInPatches(s.listMap(conditionFields("observedGeneration"), ["type"]), "type"),
  }),
});

export type Budget = KindOf<typeof budgetFields>;

function validateBudget({ spec = {} }: Budget): readonly FieldError[] {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = spec;
  return [
    ...(minAvailable !== undefined && maxUnavailable !== undefined
      ? [invalidError("spec", spec as JsonValue, "minAvailable and maxUnavailable cannot be both set")]
      : []),
    ...(minAvailable === undefined ? [] : shareFaults(minAvailable, "spec.minAvailable")),
    ...(maxUnavailable === undefined ? [] : shareFaults(maxUnavailable, "spec.maxUnavailable")),
    ...validateLabelSelector(selector, "spec.selector"),
    ...choiceFaults("spec.unhealthyPodEvictionPolicy", unhealthyPodEvictionPolicy, ["AlwaysAllow", "IfHealthyBudget"]),
  ];
}

const shareFaults = (share: number | string, path: string): readonly FieldError[] => [
  ...amountFaults(share, path),
  ...overFaults(share, path),
];

const shown = (value: number | string | undefined): string => (value === undefined ? "N/A" : String(value));

export const podDisruptionBudgets: ResourceDefinition = defineBuiltin({
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  shortNames: ["pdb"],
  namespaced: true,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(budgetFields.schema),
  columns: [
    // Stored objects have passed the schema of the kind.
    {
      name: "Min Available",
      type: "string",
      value: (o) => shown((o as Budget).spec?.minAvailable),
    },
    {
      name: "Max Unavailable",
      type: "string",
      value: (o) => shown((o as Budget).spec?.maxUnavailable),
    },
    {
      name: "Allowed Disruptions",
      type: "integer",
      value: (o) => (o as Budget).status?.disruptionsAllowed ?? 0,
    },
    ageColumn,
  ],
  strategy: {
    ...statusStrategy<Budget>(validateBudget, undefined, undefined, budgetStatusFaults),
    allowUnconditionalUpdate: false,
  },
});

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
import { statusStrategy } from "../workloads/status-strategy.ts";
import { amountFaults, overFaults } from "../workloads/validate-rollout.ts";
import { budgetStatusFaults } from "../workloads/validate-status.ts";

const budgetFields = s
  .object({
    spec: s
      .object({
        minAvailable: s.intOrString().describe("IntOrString is a type that can hold an int32 or a string."),
        maxUnavailable: s.intOrString().describe("IntOrString is a type that can hold an int32 or a string."),
        selector: replacedInPatches(labelSelector).describe(
          "A label selector is a label query over a set of resources. The result of matchLabels and matchExpressions are ANDed.",
        ),
        unhealthyPodEvictionPolicy: s
          .string()
          .describe(
            "UnhealthyPodEvictionPolicy defines the criteria for when unhealthy pods should be considered for eviction.",
          ),
      })
      .describe("PodDisruptionBudgetSpec is a description of a PodDisruptionBudget."),
    status: s
      .object({
        observedGeneration: s.int64().describe("Most recent generation observed when updating this PDB status."),
        disruptedPods: s
          .map(s.timestamp())
          .describe(
            "DisruptedPods contains information about pods whose eviction was processed by the API server eviction subresource handler but has not yet been observed by the PodDisruptionBudget controller.",
          ),
        disruptionsAllowed: s.int32().describe("Number of pod disruptions that are currently allowed."),
        currentHealthy: s.int32().describe("current number of healthy pods"),
        desiredHealthy: s.int32().describe("minimum desired number of healthy pods"),
        expectedPods: s.int32().describe("total number of pods counted by this disruption budget"),
        conditions: mergedInPatches(s.listMap(conditionFields("observedGeneration"), ["type"]), "type").describe(
          "Conditions contain conditions for PDB. The disruption controller sets the DisruptionAllowed condition.",
        ),
      })
      .describe("PodDisruptionBudgetStatus represents information about the status of a PodDisruptionBudget."),
  })
  .describe("PodDisruptionBudget is an object to define the max disruption that can be caused to a collection of pods");

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
      description: "So many must stay.",
      value: (o) => shown((o as Budget).spec?.minAvailable),
    },
    {
      name: "Max Unavailable",
      type: "string",
      description: "So many may be away.",
      value: (o) => shown((o as Budget).spec?.maxUnavailable),
    },
    {
      name: "Allowed Disruptions",
      type: "integer",
      description: "Number of pod disruptions that are currently allowed.",
      value: (o) => (o as Budget).status?.disruptionsAllowed ?? 0,
    },
    ageColumn,
  ],
  strategy: {
    ...statusStrategy<Budget>(validateBudget, undefined, undefined, budgetStatusFaults),
    allowUnconditionalUpdate: false,
  },
});

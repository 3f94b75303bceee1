// PodDisruptionBudgets: how many pods may be away at a time. Kept as they are: there are no pods that run.
// Source: k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget/strategy.go, pkg/apis/policy/validation/validation.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { ageColumn, defineBuiltin, mergedInPatches } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";
import { keepingStatus } from "../workloads/keeping-status.ts";

const budgetFields = s
  .object({
    spec: s
      .object({
        minAvailable: s.intOrString().describe("So many pods must stay: a number, or a share such as 50%."),
        maxUnavailable: s.intOrString().describe("At most so many may be away; in place of minAvailable."),
        selector: labelSelector.describe("The pods it is about."),
        unhealthyPodEvictionPolicy: s.string().describe("IfHealthyBudget or AlwaysAllow."),
      })
      .describe("The budget as it should be."),
    status: s
      .object({
        observedGeneration: s.int64().describe("The generation that was last looked at."),
        disruptedPods: s.map(s.timestamp()).describe("Pods that are on their way out."),
        disruptionsAllowed: s.int32().describe("How many pods may go now."),
        currentHealthy: s.int32().describe("How many are healthy."),
        desiredHealthy: s.int32().describe("How many should be."),
        expectedPods: s.int32().describe("How many there are."),
        conditions: mergedInPatches(s.listMap(conditionFields, ["type"]), "type").describe("The state in words."),
      })
      .describe("The budget as it is. Its controller says so."),
  })
  .describe("How many of a set of pods may be away at a time.");

type Budget = KindOf<typeof budgetFields>;

const validateBudget = ({ spec = {} }: Budget): readonly FieldError[] =>
  spec.minAvailable !== undefined && spec.maxUnavailable !== undefined
    ? [invalidError("spec", null, "minAvailable and maxUnavailable cannot be both set")]
    : [];

const shown = (value: number | string | undefined): string => (value === undefined ? "N/A" : String(value));

export const podDisruptionBudgets: ResourceDefinition = defineBuiltin({
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  singular: "poddisruptionbudget",
  shortNames: ["pdb"],
  namespaced: true,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(budgetFields.schema),
  columns: [
    // What the store holds has gone through the schema of the kind.
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
      description: "How many may go now.",
      value: (o) => (o as Budget).status?.disruptionsAllowed ?? 0,
    },
    ageColumn,
  ],
  strategy: keepingStatus<Budget>(validateBudget),
});

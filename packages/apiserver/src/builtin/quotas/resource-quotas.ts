// ResourceQuotas: how many objects a namespace may hold. Their counts are enforced by admission, and kept by a controller.
// Source: k8s.io/kubernetes/pkg/registry/core/resourcequota/strategy.go, pkg/apis/core/validation/validation.go (ValidateResourceQuota)

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError, keyPath } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { Strategy } from "../../registry/strategy.ts";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { parseAmount, quantities, quantityText } from "./quantities.ts";

const selectorRequirement = s.object({
  scopeName: s.string().required().describe("The scope it is about."),
  operator: s.string().required().describe("In, NotIn, Exists or DoesNotExist."),
  values: s.list(s.string()).describe("The values for In and NotIn."),
});

const quotaFields = s
  .object({
    spec: s
      .object({
        hard: quantities.describe(
          "The most there may be, by resource: count/configmaps, count/widgets.example.com, services.",
        ),
        scopes: s.list(s.string()).describe("Which pods are counted. Kept as they are: there are no pods that run."),
        scopeSelector: s
          .object({ matchExpressions: s.list(selectorRequirement).describe("All of these.") }, { atomic: true })
          .describe("Which pods are counted. Kept as it is."),
      })
      .describe("What is allowed."),
    status: s
      .object({
        hard: quantities.describe("The limits that were last looked at."),
        used: quantities.describe("How many there are, by resource."),
      })
      .describe("What is used. Filled in by the server."),
  })
  .describe(
    "Limits of a namespace. Counts of objects are enforced; amounts of processors and memory are kept as they are.",
  );

export type ResourceQuota = KindOf<typeof quotaFields>;

const validateQuota = ({ spec }: ResourceQuota): readonly FieldError[] =>
  Object.entries(spec?.hard ?? {}).flatMap(([resource, amount]) => {
    const path = keyPath("spec.hard", resource);
    const quantity = parseAmount(quantityText(amount));
    if (quantity === undefined) return [invalidError(path, quantityText(amount), "must be a quantity")];
    return quantity < 0n ? [invalidError(path, quantityText(amount), "must be greater than or equal to 0")] : [];
  });

const strategy: Strategy<ResourceQuota> = {
  allowUnconditionalUpdate: true,
  prepareForCreate: (quota) => ({ ...quota, status: {} }),
  validate: validateQuota,
  prepareForUpdate: (quota, old, { info }) =>
    info.subresource === "status"
      ? { ...quota, ...(old.spec === undefined ? {} : { spec: old.spec }) }
      : { ...quota, ...(old.status === undefined ? {} : { status: old.status }) },
  validateUpdate: (quota, _old, { info }) => (info.subresource === "status" ? [] : validateQuota(quota)),
};

/** `configmaps: 1/5, secrets: 0/3`, those with `wanted` in their names or those without. */
function amounts({ status }: ResourceQuota, areLimits: boolean): string {
  return Object.keys(status?.hard ?? {})
    .toSorted()
    .filter((resource) => resource.startsWith("limits.") === areLimits)
    .map(
      (resource) =>
        `${resource}: ${quantityText(status?.used?.[resource] ?? "0")}/${quantityText(status?.hard?.[resource] ?? "0")}`,
    )
    .join(", ");
}

export const resourceQuotas: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  singular: "resourcequota",
  shortNames: ["quota"],
  namespaced: true,
  hasStatus: true,
  schema: kindSchema(quotaFields.schema),
  columns: [
    // What the store holds has gone through the schema of the kind.
    {
      name: "Request",
      type: "string",
      description: "What is used of what is allowed.",
      value: (object) => amounts(object as ResourceQuota, false),
    },
    {
      name: "Limit",
      type: "string",
      description: "The same for limits.",
      value: (object) => amounts(object as ResourceQuota, true),
    },
    ageColumn,
  ],
  strategy,
});

// ResourceQuotas: how many objects a namespace may hold. Their counts are enforced by admission, and kept by a controller.
// Source: k8s.io/kubernetes/pkg/registry/core/resourcequota/strategy.go, pkg/apis/core/validation/validation.go (ValidateResourceQuota)

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError, tooManyError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { quantities, quantityText } from "./quantities.ts";
import { validateAmounts, validateQuotaSpec } from "./validate-resource-quota.ts";

const selectorRequirement = s.object({
  scopeName: s.string().required().describe("The name of the scope that the selector applies to."),
  operator: s
    .string()
    .required()
    .describe(
      "Represents a scope's relationship to a set of values. Valid operators are In, NotIn, Exists, DoesNotExist.",
    ),
  values: s
    .list(s.string())
    .describe("An array of string values. If the operator is In or NotIn, the values array must be non-empty."),
});

const quotaFields = s
  .object({
    spec: s
      .object({
        hard: quantities.describe("hard is the set of desired hard limits for each named resource."),
        scopes: s
          .list(s.string())
          .describe(
            "A collection of filters that must match each object tracked by a quota. If not specified, the quota matches all objects.",
          ),
        scopeSelector: s
          .object(
            {
              matchExpressions: s
                .list(selectorRequirement)
                .describe("A list of scope selector requirements by scope of the resources."),
            },
            { atomic: true },
          )
          .describe(
            "A scope selector represents the AND of the selectors represented by the scoped-resource selector requirements.",
          ),
      })
      .describe("ResourceQuotaSpec defines the desired hard limits to enforce for Quota."),
    status: s
      .object({
        hard: quantities.describe("Hard is the set of enforced hard limits for each named resource."),
        used: quantities.describe("Used is the current observed total usage of the resource in the namespace."),
      })
      .describe("ResourceQuotaStatus defines the enforced hard limits and observed use."),
  })
  .describe("ResourceQuota sets aggregate quota restrictions enforced per namespace");

export type ResourceQuota = KindOf<typeof quotaFields>;

/** Each write in a namespace asks all of its quotas, and each change of an object has them counted again. */
const MAX_NAMES = 250;

/** Names that were there before the limit may stay. */
const validateCount = (path: string, now: object = {}, before: object = {}): readonly FieldError[] => {
  const count = Object.keys(now).length;
  return count > MAX_NAMES && count > Object.keys(before).length ? [tooManyError(path, count, MAX_NAMES)] : [];
};

const validateStatus = ({ status }: ResourceQuota, old: ResourceQuota): readonly FieldError[] =>
  (["hard", "used"] as const).flatMap((field) => {
    const tooMany = validateCount(`status.${field}`, status?.[field], old.status?.[field]);
    return tooMany.length > 0 ? tooMany : validateAmounts(status?.[field], `status.${field}`);
  });

function validateQuota({ spec = {} }: ResourceQuota, old?: ResourceQuota): readonly FieldError[] {
  const tooMany = validateCount("spec.hard", spec.hard, old?.spec?.hard);
  if (tooMany.length > 0) return tooMany;
  const before = new Set(old?.spec?.scopes);
  const now = new Set(spec.scopes);
  const isSame = before.size === now.size && [...now].every((scope) => before.has(scope));
  return [
    ...validateQuotaSpec(spec, "spec"),
    ...(old === undefined || isSame
      ? []
      : [invalidError("spec.scopes", [...(spec.scopes ?? [])], "field is immutable")]),
  ];
}

const strategy: Strategy<ResourceQuota> = {
  allowUnconditionalUpdate: true,
  prepareForCreate: (quota) => ({ ...quota, status: {} }),
  validate: (quota) => validateQuota(quota),
  prepareForUpdate: (quota, old, { info }) =>
    info.subresource === "status"
      ? { ...quota, ...(old.spec === undefined ? {} : { spec: old.spec }) }
      : { ...quota, ...(old.status === undefined ? {} : { status: old.status }) },
  validateUpdate: (quota, old, { info }) =>
    info.subresource === "status" ? validateStatus(quota, old) : validateQuota(quota, old),
};

const isLimit = (resource: string): boolean => resource.startsWith("limits.");

/** `configmaps: 1/5, secrets: 0/3`, of the resources that are wanted. */
function amounts({ status }: ResourceQuota, isWanted: (resource: string) => boolean): string {
  return Object.keys(status?.hard ?? {})
    .toSorted()
    .filter(isWanted)
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
  returnsDeletedObject: true,
  shortNames: ["quota"],
  namespaced: true,
  hasStatus: true,
  schema: kindSchema(quotaFields.schema),
  columns: [
    // Stored objects have passed the schema of the kind.
    {
      name: "Request",
      type: "string",
      description: "Used and hard limits.",
      value: (object) => amounts(object as ResourceQuota, (resource) => !isLimit(resource)),
    },
    {
      name: "Limit",
      type: "string",
      description: "The same for limits.",
      value: (object) => amounts(object as ResourceQuota, isLimit),
    },
    ageColumn,
  ],
  strategy,
});

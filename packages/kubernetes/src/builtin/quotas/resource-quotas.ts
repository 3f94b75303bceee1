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
  scopeName: s.string().required(),
  operator: s.string().required(),
  values: s.list(s.string()),
});

const quotaFields = s.object({
  spec: s.object({
    hard: quantities,
    scopes: s.list(s.string()),
    scopeSelector: s.object(
      {
        matchExpressions: s.list(selectorRequirement),
      },
      { atomic: true },
    ),
  }),
  status: s.object({
    hard: quantities,
    used: quantities,
  }),
});

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
      value: (object) => amounts(object as ResourceQuota, (resource) => !isLimit(resource)),
    },
    {
      name: "Limit",
      type: "string",
      value: (object) => amounts(object as ResourceQuota, isLimit),
    },
    ageColumn,
  ],
  strategy,
});

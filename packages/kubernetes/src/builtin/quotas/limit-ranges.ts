// LimitRanges: what pods of a namespace get by default, and at most. Kept as they are: no pod runs here.
// Source: k8s.io/kubernetes/pkg/registry/core/limitrange/strategy.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  type FieldError,
  indexPath,
  invalidError,
  keyPath,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { createdAtColumn, defineBuiltin } from "../builtin-resource.ts";
import { parseAmount, quantities, quantityText } from "./quantities.ts";

const limitFields = s.object({
  type: s.string().required().describe("Type of resource that this limit applies to."),
  max: quantities.describe("Max usage constraints on this kind by resource name."),
  min: quantities.describe("Min usage constraints on this kind by resource name."),
  default: quantities.describe(
    "Default resource requirement limit value by resource name if resource limit is omitted.",
  ),
  defaultRequest: quantities.describe(
    "DefaultRequest is the default resource requirement request value by resource name if resource request is omitted.",
  ),
  maxLimitRequestRatio: quantities.describe(
    "MaxLimitRequestRatio if specified, the named resource must have a request and limit that are both non-zero where limit divided by request is less than or equal to the enumerated value; this represents the max burst for the named resource.",
  ),
});

const limitRangeFields = s
  .object({
    spec: s
      .object({
        limits: s
          .list(limitFields)
          .required()
          .describe("Limits is the list of LimitRangeItem objects that are enforced."),
      })
      .describe("Limits is the list of LimitRangeItem objects that are enforced."),
  })
  .describe("Limits and defaults for the pods of a namespace. Stored, but has no effect.");

type LimitRange = KindOf<typeof limitRangeFields>;
const AMOUNTS = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;

const validateLimitRange = ({ spec }: LimitRange): readonly FieldError[] =>
  (spec?.limits ?? []).flatMap((limit, index) => {
    const path = indexPath("spec.limits", index);
    return [
      ...(limit.type === "" ? [requiredError(`${path}.type`)] : []),
      ...AMOUNTS.flatMap((name) =>
        Object.entries(limit[name] ?? {}).flatMap(([resource, amount]) =>
          parseAmount(quantityText(amount)) === undefined
            ? [invalidError(keyPath(`${path}.${name}`, resource), quantityText(amount), "must be a quantity")]
            : [],
        ),
      ),
    ];
  });

const strategy: Strategy<LimitRange> = {
  allowUnconditionalUpdate: true,
  allowCreateOnUpdate: true,
  validate: validateLimitRange,
  validateUpdate: validateLimitRange,
};

export const limitRanges: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "LimitRange",
  plural: "limitranges",
  singular: "limitrange",
  shortNames: ["limits"],
  namespaced: true,
  schema: kindSchema(limitRangeFields.schema),
  columns: [createdAtColumn],
  strategy,
});

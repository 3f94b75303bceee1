// LimitRanges: defaults and bounds for the resources of pods and claims of a namespace (limit-admission.ts).
// Source: k8s.io/kubernetes/pkg/registry/core/limitrange/strategy.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { createdAtColumn, defineBuiltin } from "../builtin-resource.ts";
import { quantities } from "./quantities.ts";
import { validateLimits, withLimitDefaults } from "./validate-limit-range.ts";

const limitFields = s.object({
  type: s.string().required(),
  max: quantities,
  min: quantities,
  default: quantities,
  defaultRequest: quantities,
  maxLimitRequestRatio: quantities,
});

const limitRangeFields = s.object({
  spec: s.object({
    limits: s.list(limitFields).nullable(),
  }),
});

export type LimitRange = KindOf<typeof limitRangeFields>;
const validateLimitRange = ({ spec }: LimitRange): readonly FieldError[] =>
  validateLimits(spec?.limits ?? [], "spec.limits");

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
  shortNames: ["limits"],
  namespaced: true,
  schema: kindSchema(limitRangeFields.schema),
  columns: [createdAtColumn],
  // Bodies of built-in kinds have passed their types by now.
  setDefaults: (object) => {
    const { spec } = object as LimitRange;
    return { ...object, spec: { ...spec, limits: spec?.limits?.map(withLimitDefaults) ?? null } };
  },
  strategy,
});

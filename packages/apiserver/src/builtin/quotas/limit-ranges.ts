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
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { Strategy } from "../../registry/strategy.ts";
import { createdAtColumn, defineBuiltin } from "../builtin-resource.ts";
import { parseAmount, quantities, quantityText } from "./quantities.ts";

const limitFields = s.object({
  type: s.string().required().describe("What it is about: Pod, Container or PersistentVolumeClaim."),
  max: quantities.describe("At most this much."),
  min: quantities.describe("At least this much."),
  default: quantities.describe("The limit where none is given."),
  defaultRequest: quantities.describe("The request where none is given."),
  maxLimitRequestRatio: quantities.describe("How much larger than its request a limit may be."),
});

const limitRangeFields = s
  .object({
    spec: s.object({ limits: s.list(limitFields).required().describe("The limits.") }).describe("The limits."),
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

// Refuses rules whose estimated cost for the largest possible object is too high.
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/{validation,cel_validation}.go

import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { childPath, type FieldError, forbiddenError } from "@postern/apimachinery/validation/field-error";
import { MAX_ESTIMATE } from "@postern/cel/estimated-range";
import { MAX_REQUEST_BYTES, type SizeLimits } from "@postern/cel/schema-size";

/** For one rule and all its values. */
const MAX_RULE_COST = 10_000_000;
/** Highest cost of all rules of a schema together. */
const MAX_SCHEMA_COST = 100_000_000;
/** Number of rules listed if their total cost is too high. */
const MOST_EXPENSIVE = 4;

export type RuleCosts = {
  /** `path` is that of the rules, `cost` the cost of one evaluation, `times` the number of values. */
  observe(path: string, member: "rule" | "messageExpression", cost: number, times: number): void;
  /** Reports if the total cost is too high. `path` is that of the schema. */
  check(path: string): void;
};

export function createRuleCosts(errors: Pick<FieldError[], "push">): RuleCosts {
  let total = 0;
  let expensive: readonly { readonly path: string; readonly cost: number }[] = [];
  return {
    observe(path, member, cost, times) {
      const whole = Math.min(cost * times, MAX_ESTIMATE);
      const at = childPath(path, member);
      if (whole > MAX_RULE_COST) {
        errors.push(forbiddenError(at, excess(`estimated ${member} cost`, whole, MAX_RULE_COST)));
      }
      total = Math.min(total + whole, MAX_ESTIMATE);
      if (whole < MAX_SCHEMA_COST / 100) return;
      expensive = [...expensive, { path: at, cost: whole }]
        .toSorted((a, b) => b.cost - a.cost)
        .slice(0, MOST_EXPENSIVE);
    },
    check(path) {
      if (total <= MAX_SCHEMA_COST) return;
      const why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
      errors.push(...expensive.map((rule) => forbiddenError(rule.path, why)));
      const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
      errors.push(forbiddenError(path, excess(what, total, MAX_SCHEMA_COST)));
    },
  };
}

function excess(what: string, cost: number, limit: number): string {
  const times = cost / limit;
  // Just above 1, one decimal would show 1.0.
  const factor = times > 100 ? "more than 100" : times.toFixed(times < 1.5 ? 6 : 1);
  return `${what} exceeds budget by factor of ${factor}x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

/** Maximum number of values below `schema`, of which there are `around`; undefined without a limit. */
export function cardinalityBelow(schema: StructuralSchema, around: number | undefined): number | undefined {
  const times = maxElements(schema);
  return around === undefined || times === undefined ? undefined : Math.min(around * Math.max(0, times), MAX_ESTIMATE);
}

function maxElements({ type, additionalProperties, maxProperties, maxItems }: StructuralSchema): number | undefined {
  if (type === "array") return maxItems;
  return type === "object" && additionalProperties !== undefined ? maxProperties : 1;
}

/** Maximum number of values with these limits in a request. */
export const mostInRequest = ({ minBytes }: SizeLimits): number => Math.floor(MAX_REQUEST_BYTES / (minBytes + 1));

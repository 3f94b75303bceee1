// Checks objects against the rules (x-kubernetes-validations) of a custom resource's schema.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";
import {
  childPath,
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  keyPath,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { type CelExpression, parseCel } from "./cel/cel-syntax.ts";
import {
  type CelBudget,
  CelBudgetError,
  CelEvaluationError,
  createCelBudget,
  evaluateCel,
} from "./cel/evaluate-cel.ts";

/** What one rule may cost for one value, and all rules together for one object. Upstream: k8s.io/apiserver/pkg/apis/cel/config.go */
const STEPS_PER_RULE = 1_000_000;
const STEPS_PER_OBJECT = 10_000_000;

export type ValidationRules = (object: KubeObject, old: KubeObject | undefined) => readonly FieldError[];

type Rule = {
  readonly expression: CelExpression;
  /** Compares with what was there before; does not apply where nothing was. */
  readonly isTransition: boolean;
  readonly message: string;
  readonly messageExpression: CelExpression | undefined;
  readonly reason: string;
  readonly fieldPath: string;
};

/**
 * Undefined where the schema has no rules.
 * @throws CelSyntaxError for a rule that does not parse
 */
export function compileValidationRules(schema: StructuralSchema): ValidationRules | undefined {
  const rulesOf = new Map<StructuralSchema, readonly Rule[]>();
  collect(schema, rulesOf);
  if (rulesOf.size === 0) return undefined;
  return (object, old) => {
    const errors: FieldError[] = [];
    const budget = createCelBudget(STEPS_PER_OBJECT);
    let isOver = false;
    // Objects are JSON; only their named types hide it.
    check(schema, object as JsonObject, old as JsonObject | undefined, "", (at, value, before, path) => {
      for (const rule of rulesOf.get(at) ?? []) {
        if (isOver) return;
        try {
          errors.push(...evaluate(rule, at, value, before, path, budget));
        } catch (error) {
          if (!(error instanceof CelBudgetError)) throw error;
          isOver = true;
          errors.push(invalidError(path === "" ? "<nil>" : path, at.type ?? "", textOfCost(error, rule)));
        }
      }
    });
    return errors;
  };
}

function collect(schema: StructuralSchema, rulesOf: Map<StructuralSchema, readonly Rule[]>): void {
  const rules = (schema["x-kubernetes-validations"] ?? []).filter(isJsonObject).map(compileRule);
  if (rules.length > 0) rulesOf.set(schema, rules);
  const below = [...Object.values(schema.properties ?? {}), schema.items, valueSchemaOf(schema)];
  for (const part of below) if (part !== undefined) collect(part, rulesOf);
}

function compileRule(rule: JsonObject): Rule {
  const text = (member: string): string => (typeof rule[member] === "string" ? rule[member] : "");
  const source = text("rule").trim();
  return {
    expression: parseCel(source),
    isTransition: /\boldSelf\b/.test(source),
    message: text("message").trim() || `failed rule: ${source}`,
    messageExpression: text("messageExpression") === "" ? undefined : parseCel(text("messageExpression")),
    reason: text("reason"),
    fieldPath: text("fieldPath"),
  };
}

type Visit = (schema: StructuralSchema, value: JsonValue, old: JsonValue | undefined, path: string) => void;

function check(
  schema: StructuralSchema,
  value: JsonValue,
  old: JsonValue | undefined,
  path: string,
  visit: Visit,
): void {
  if (value === null) return;
  visit(schema, value, old, path);
  if (isJsonArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    const before = isJsonArray(old) ? old : [];
    for (const [index, item] of value.entries()) {
      check(items, item, previousItem(schema, item, before), indexPath(path, index), visit);
    }
    return;
  }
  if (!isJsonObject(value)) return;
  const before = isJsonObject(old) ? old : {};
  for (const [name, member] of Object.entries(value)) {
    const property = propertyOf(schema, name);
    const below = property ?? valueSchemaOf(schema);
    const at = property === undefined ? keyPath(path, name) : path === "" ? name : childPath(path, name);
    if (below !== undefined && member !== undefined) check(below, member, before[name], at, visit);
  }
}

/** Only the items of associative lists can be told apart over time. */
function previousItem(schema: StructuralSchema, item: JsonValue, before: readonly JsonValue[]): JsonValue | undefined {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  if (schema["x-kubernetes-list-type"] !== "map" || !isJsonObject(item)) return undefined;
  return before.find((other) => isJsonObject(other) && keys.every((name) => other[name] === item[name]));
}

function evaluate(
  rule: Rule,
  schema: StructuralSchema,
  self: JsonValue,
  oldSelf: JsonValue | undefined,
  path: string,
  budget: CelBudget,
): readonly FieldError[] {
  if (rule.isTransition && oldSelf === undefined) return [];
  const type: string = schema.type ?? "";
  const scope = { self, ...(oldSelf === undefined ? {} : { oldSelf }) };
  const own = createCelBudget(STEPS_PER_RULE, budget);
  try {
    if (evaluateCel(rule.expression, scope, own) === true) return [];
    const field = `${path}${rule.fieldPath}`.replace(/^\./, "");
    return [errorOf(rule.reason, field === "" ? "<nil>" : field, type, messageOf(rule, scope, own))];
  } catch (error) {
    if (!(error instanceof CelEvaluationError)) throw error;
    return [invalidError(path === "" ? "<nil>" : path, type, `${error.message} evaluating rule: ${rule.message}`)];
  }
}

const textOfCost = ({ message }: CelBudgetError, rule: Rule): string =>
  `'${message}': no further validation rules will be run due to call cost exceeds limit for rule: ${rule.message}`;

function messageOf(
  { message, messageExpression }: Rule,
  scope: { readonly [name: string]: JsonValue },
  budget: CelBudget,
): string {
  if (messageExpression === undefined) return message;
  try {
    const text = evaluateCel(messageExpression, scope, budget);
    return typeof text === "string" && text.trim() !== "" && !text.includes("\n") ? text : message;
  } catch (error) {
    if (error instanceof CelEvaluationError || error instanceof CelBudgetError) return message;
    throw error;
  }
}

function errorOf(reason: string, field: string, type: string, message: string): FieldError {
  switch (reason) {
    case "FieldValueForbidden":
      return forbiddenError(field, message);
    case "FieldValueRequired":
      return requiredError(field, message);
    case "FieldValueDuplicate":
      return duplicateError(field, type);
    default:
      return invalidError(field, type, message);
  }
}

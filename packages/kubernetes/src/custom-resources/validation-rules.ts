// Checks objects against the rules (x-kubernetes-validations) of a custom resource's schema.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go

import {
  isJsonArray,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
} from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { correlateItems } from "@postern/apimachinery/schema/validation/correlate-items";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import { byteLength } from "@postern/apimachinery/validation/byte-length";
import {
  childPath,
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  invalidWholeError,
  keyPath,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { CelLimitError, type CelMeter, createCelMeter } from "@postern/cel/cel-budget";
import type { CelScope } from "@postern/cel/cel-evaluation";
import type { CelExpression } from "@postern/cel/cel-expression";
import { CelEvaluationError, CelOptional, type CelValue, NO_VALUE } from "@postern/cel/cel-value";
import { evaluateCel } from "@postern/cel/evaluate-cel";
import { celValueOf } from "@postern/cel/schema-value";
import { compileRules, type Rule, type RuleFaults, type RuleNode } from "./compile-rules.ts";
import { createRatchet, isUnchanged, NO_RATCHET, type Ratchet, ratchetOfItem, ratchetOfMember } from "./ratchet.ts";

/** Cost limits: of one rule for one value, and of all rules for one object. Upstream: k8s.io/apiserver/pkg/apis/cel/config.go */
const COST_PER_RULE = 1_000_000;
const COST_PER_OBJECT = 10_000_000;
const MAX_MESSAGE_BYTES = 5 * 1024;

/**
 * `warn` receives rules that are violated without a change, which are no errors. Undefined if the rules cost more than `most`: they may still hold
 * then.
 */
export type ValidationRules = (
  object: KubeObject,
  old: KubeObject | undefined,
  warn: (text: string) => void,
  most?: number,
) => readonly FieldError[] | undefined;

/** Undefined if the schema has no rules. Errors of the rules are added to `errors`, with paths that begin with `path`. */
export const compileValidationRules = (
  schema: StructuralSchema,
  path: string,
  errors: FieldError[],
): ValidationRules | undefined =>
  runSteps(compileValidationRulesInSteps(schema, path, { all: errors, tolerated: new Set() }));

/** A step for each rule: a definition may have thousands. */
export function* compileValidationRulesInSteps(
  schema: StructuralSchema,
  path: string,
  faults: RuleFaults,
): Steps<ValidationRules | undefined> {
  const root = yield* compileRules(schema, path, faults);
  if (root === undefined) return undefined;
  return (object, old, warn, most = Number.POSITIVE_INFINITY) => {
    const check: Check = { errors: [], warn, left: COST_PER_OBJECT, most };
    // Objects are JSON; only their named types hide it.
    const [value, before] = [object as JsonObject, old as JsonObject | undefined];
    try {
      checkValue(root, { value, old: before, path: "", ratchet: createRatchet(schema, value, before) }, check);
    } catch (error) {
      if (error instanceof TakesLong) return undefined;
      if (!(error instanceof OverBudget)) throw error;
      check.errors.push(error.fault);
    }
    return check.errors;
  };
}

type Check = { readonly errors: FieldError[]; readonly warn: (text: string) => void; left: number; most: number };

/** Fixed cost of an evaluation, in addition to the cost of its expression. */
const EVALUATION_COST = 5;

/** More than the limit. */
class TakesLong extends Error {}

function meterOf({ most }: Check): CelMeter {
  return createCelMeter(Math.min(COST_PER_RULE, most));
}

function throwIfLong({ most }: Check): void {
  if (most < COST_PER_RULE) throw new TakesLong();
}

/** A value with rules. */
type Part = {
  readonly value: JsonValue;
  readonly old: JsonValue | undefined;
  readonly path: string;
  readonly ratchet: Ratchet;
};

/** No further rules are evaluated. */
class OverBudget extends Error {
  readonly fault: FieldError;

  constructor(fault: FieldError) {
    super(fault.message);
    this.fault = fault;
  }
}

function checkValue(node: RuleNode, part: Part, check: Check): void {
  if (part.value === null) return;
  checkRules(node, part, check);
  for (const other of node.allOf) {
    checkValue(other, { ...part, ratchet: { ...NO_RATCHET, parent: part.ratchet.parent } }, check);
  }
  if (isJsonArray(part.value)) checkItems(node, part, part.value, check);
  else if (isJsonObject(part.value)) checkMembers(node, part, part.value, check);
}

function checkItems({ items, schema }: RuleNode, { old, path, ratchet }: Part, list: JsonArray, check: Check): void {
  if (items === undefined) return;
  const before = correlateItems(schema, old);
  for (const [index, value] of list.entries()) {
    const part = { value, old: before(value), path: indexPath(path, index), ratchet: ratchetOfItem(ratchet, index) };
    checkValue(items, part, check);
  }
}

function checkMembers(node: RuleNode, { old, path, ratchet }: Part, object: JsonObject, check: Check): void {
  const before = isJsonObject(old) && node.schema["x-kubernetes-map-type"] !== "atomic" ? old : {};
  for (const [name, value] of Object.entries(object)) {
    const property = node.properties.get(name);
    const below = property ?? node.values;
    if (below === undefined || value === undefined) continue;
    const at = property === undefined ? keyPath(path, name) : childPath(path, name);
    const was = Object.hasOwn(before, name) ? before[name] : undefined;
    checkValue(below, { value, old: was, path: at, ratchet: ratchetOfMember(ratchet, name) }, check);
  }
}

const placeOf = (path: string): string => (path === "" ? "<nil>" : path.replace(/^\./, ""));

function checkRules({ rules, type, schema }: RuleNode, part: Part, check: Check): void {
  if (rules.length === 0) return;
  const typeName = schema.type ?? "";
  const field = placeOf(part.path);
  const refuse = (why: string): void => {
    check.errors.push(invalidError(field, typeName, why));
  };
  const self = attempt(() => celValueOf(part.value, type));
  const old = part.old ?? undefined;
  for (const rule of rules) {
    if (rule.usesOldSelf && old === undefined && !rule.isOldSelfOptional) continue;
    const spend = spender(check, field, typeName);
    const meter = meterOf(check);
    try {
      const scope = scopeOf(rule, self(), old === undefined ? undefined : celValueOf(old, type));
      const holds = evaluateCel(rule.expression, { names: scope, meter });
      spend(meter);
      if (holds === true) continue;
      const fault = faultOf(rule, part, typeName, messageOf(rule, scope, check, field, typeName));
      if (rule.usesOldSelf || !isUnchanged(part.ratchet)) check.errors.push(fault);
      else check.warn(`${fault.field}: ${fault.message}`);
    } catch (error) {
      if (error instanceof CelLimitError) {
        throwIfLong(check);
        const why = "no further validation rules will be run due to call cost exceeds limit for rule";
        throw new OverBudget(invalidError(field, typeName, `'${error.message}': ${why}: ${rule.text}`));
      }
      if (!(error instanceof CelEvaluationError)) throw error;
      spend(meter);
      refuse(textOfFault(error.message, rule));
    }
  }
}

/** Converted once; an error applies to each rule. */
function attempt(make: () => CelValue): () => CelValue {
  let made: CelValue | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function scopeOf({ isOldSelfOptional }: Rule, self: CelValue, old: CelValue | undefined): CelScope {
  if (isOldSelfOptional) return { self, oldSelf: old === undefined ? NO_VALUE : new CelOptional(old) };
  return old === undefined ? { self } : { self, oldSelf: old };
}

const OUT_OF_BUDGET = "running out of cost budget, no further validation rules will be run";

const spender =
  (check: Check, field: string, typeName: string, what = "validation failed") =>
  ({ spent }: CelMeter): void => {
    check.left -= spent;
    check.most -= spent + EVALUATION_COST;
    if (check.most < 0) throw new TakesLong();
    if (check.left >= 0) return;
    throw new OverBudget(invalidError(field, typeName, `${what} due to ${OUT_OF_BUDGET}`));
  };

const textOfFault = (message: string, rule: Rule): string =>
  message.startsWith("no such overload")
    ? `'${message}': call arguments did not match a supported operator, function or macro signature for rule: ${rule.text}`
    : `${message} evaluating rule: ${rule.text}`;

/** No more of them are shown to a client: an expression must not make a text of kilobytes for each item of a list. */
const MAX_COMPUTED_MESSAGES = 100;

/** The result of messageExpression, or else the message. */
function messageOf(
  { messageExpression, message }: Rule,
  scope: CelScope,
  check: Check,
  field: string,
  typeName: string,
): string {
  if (messageExpression === undefined || check.errors.length >= MAX_COMPUTED_MESSAGES) return message;
  const meter = meterOf(check);
  const computed = computeMessage(messageExpression, scope, meter, (why) => {
    throwIfLong(check);
    throw new OverBudget(invalidError(field, typeName, why));
  });
  spender(check, field, typeName, "messageExpression evaluation failed")(meter);
  return computed ?? message;
}

function computeMessage(
  expression: CelExpression,
  names: CelScope,
  meter: CelMeter,
  giveUp: (why: string) => never,
): string | undefined {
  try {
    const value = evaluateCel(expression, { names, meter });
    const text = typeof value === "string" ? value.trim() : "";
    return text === "" || text.includes("\n") || byteLength(text) > MAX_MESSAGE_BYTES ? undefined : text;
  } catch (error) {
    if (error instanceof CelEvaluationError) return undefined;
    if (!(error instanceof CelLimitError)) throw error;
    return giveUp("no further validation rules will be run due to call cost exceeds limit for messageExpression");
  }
}

function faultOf({ reason, fieldPath }: Rule, { path }: Part, typeName: string, message: string): FieldError {
  const field = placeOf(`${path}${fieldPath}`);
  switch (reason) {
    case "FieldValueForbidden":
      return forbiddenError(field, message);
    case "FieldValueRequired":
      return requiredError(field, message);
    case "FieldValueDuplicate":
      return duplicateError(field, typeName);
    default:
      return WHOLES.has(typeName) ? invalidWholeError(field, message) : invalidError(field, typeName, message);
  }
}

/** The refusal by a rule does not repeat them. */
const WHOLES = new Set(["object", "array"]);

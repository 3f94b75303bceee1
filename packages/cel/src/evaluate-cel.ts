// Evaluates expressions, and counts what that costs.
// Semantics: https://github.com/google/cel-spec/blob/master/doc/langdef.md; cost: cel-go/interpreter/runtimecost.go

import { COST_OF_FAULT, costOfCall } from "./call-cost.ts";
import { type CelEvaluation, ENTRY_COST, ITEM_COST } from "./cel-evaluation.ts";
import type { CelEntry, CelExpression } from "./cel-expression.ts";
import {
  CelEvaluationError,
  CelExtension,
  CelList,
  CelLiteralMap,
  CelMap,
  CelMessage,
  CelOptional,
  type CelValue,
  failCel,
  isCelNumber,
  listOf,
  NO_VALUE,
  plainNumber,
  truthOf,
  typeNameOf,
} from "./cel-value.ts";
import { equalCel } from "./compare-cel.ts";
import { evaluateMacro } from "./evaluate-macro.ts";
import { callCelFunction, TYPE_VALUES } from "./functions/cel-library.ts";

const LIST_COST = 10;
const MAP_COST = 30;
const MESSAGE_COST = 40;

/** Throws CelEvaluationError, and CelLimitError when it costs more than there is. */
export function evaluateCel(expression: CelExpression, scope: CelEvaluation): CelValue {
  switch (expression.type) {
    case "literal":
      scope.meter.spend(ITEM_COST);
      return expression.value;
    case "identifier":
      return valueOfName(expression.name, scope);
    case "select":
      return evaluateSelect(expression, scope);
    case "has":
      return isPresent(expression, scope);
    case "index": {
      const operand = evaluateCel(expression.operand, scope);
      return evaluateIndex(operand, evaluateCel(expression.index, scope), expression.isOptional, scope);
    }
    case "call":
      return evaluateCall(expression, scope);
    case "logic":
      return evaluateLogic(expression, scope);
    case "conditional":
      return truthOf(evaluateCel(expression.test, scope))
        ? evaluateCel(expression.then, scope)
        : evaluateCel(expression.otherwise, scope);
    case "list":
      scope.meter.spend(LIST_COST + expression.items.length * ITEM_COST);
      return listOf(expression.items.flatMap((item) => partsOf(item.value, item.isOptional, scope)));
    case "map":
      scope.meter.spend(MAP_COST + expression.entries.length * ENTRY_COST);
      return new CelLiteralMap(expression.entries.flatMap((entry) => entriesOf(entry, scope)));
    case "message":
      scope.meter.spend(MESSAGE_COST);
      return new CelMessage(
        expression.name,
        new Map(
          expression.fields.flatMap(({ field, value, isOptional }) =>
            partsOf(value, isOptional, scope).map((part) => [field, part] as const),
          ),
        ),
      );
    case "macro":
      return evaluateMacro(expression, scope, evaluateCel);
  }
}

type OfType<T extends CelExpression["type"]> = Extract<CelExpression, { readonly type: T }>;

function valueOfName(name: string, { names, meter }: CelEvaluation): CelValue {
  meter.spend(1);
  const value = Object.hasOwn(names, name) ? names[name] : TYPE_VALUES.get(name);
  return value === undefined ? failCel(`no such attribute(s): ${name}`) : value;
}

function evaluateSelect({ operand, field, isOptional }: OfType<"select">, scope: CelEvaluation): CelValue {
  const value = evaluateCel(operand, scope);
  scope.meter.spend(1);
  if (!isOptional && !(value instanceof CelOptional)) return memberOf(value, field);
  const present = value instanceof CelOptional ? value.value : value;
  const member = present === undefined ? undefined : fieldOf(present, field);
  return optionalOf(member);
}

/** Optional values stay as they are. */
function optionalOf(value: CelValue | undefined): CelOptional {
  if (value instanceof CelOptional) return value;
  return value === undefined ? NO_VALUE : new CelOptional(value);
}

function fieldOf(value: CelValue, field: string): CelValue | undefined {
  if (value instanceof CelMap) return value.get(field);
  return (value instanceof CelExtension ? value.memberOf(field) : undefined) ?? failCel("no such overload");
}

function memberOf(value: CelValue, field: string): CelValue {
  const member = fieldOf(value, field);
  return member === undefined ? failCel(`no such key: ${field}`) : member;
}

function isPresent({ operand, field }: OfType<"has">, scope: CelEvaluation): boolean {
  const value = evaluateCel(operand, scope);
  if (value instanceof CelOptional) return value.value !== undefined && fieldOf(value.value, field) !== undefined;
  return fieldOf(value, field) !== undefined;
}

function evaluateIndex(operand: CelValue, index: CelValue, isOptional: boolean, { meter }: CelEvaluation): CelValue {
  const name = isOptional || operand instanceof CelOptional ? "_[?_]" : "_[_]";
  const list = operand instanceof CelOptional ? operand.value : operand;
  const args = [operand, list instanceof CelList ? placeOf(index) : index];
  meter.spend(costOfCall(name, args));
  return callCelFunction(name, false, args);
}

/** Numbers of other types are found out about at run time: the index may be `dyn`. */
function placeOf(index: CelValue): bigint {
  if (!isCelNumber(index)) return failCel(`unsupported index type '${typeNameOf(index)}' in list`);
  const number = plainNumber(index);
  if (typeof number === "bigint") return number;
  return Number.isInteger(number) ? BigInt(number) : failCel(`unsupported index value ${number} in list`);
}

function evaluateCall({ name, target, args }: OfType<"call">, scope: CelEvaluation): CelValue {
  if (target !== undefined && (name === "or" || name === "orValue")) {
    const first = evaluateCel(target, scope);
    scope.meter.spend(1);
    if (first instanceof CelOptional && first.value !== undefined) return name === "or" ? first : first.value;
    return callCelFunction(name, true, [first, ...args.map((arg) => evaluateCel(arg, scope))]);
  }
  const values = (target === undefined ? args : [target, ...args]).map((part) => evaluateCel(part, scope));
  if (name === "_==_" || name === "_!=_") return evaluateEquality(name, values, scope);
  const { spend } = scope.meter;
  spend(costOfCall(name, values));
  return callCelFunction(name, target !== undefined, values, spend);
}

/** Values in values cost as well, while they are compared. */
function evaluateEquality(name: string, values: readonly CelValue[], { meter }: CelEvaluation): boolean {
  const [left = null, right = null] = values;
  meter.spend(costOfCall(name, values));
  const same = equalCel(left, right, (weight) => meter.spend(weight * 0.1));
  return (name === "_==_") === same;
}

/** Either side may decide alone, also where the other cannot be evaluated. */
function evaluateLogic({ operator, sides }: OfType<"logic">, scope: CelEvaluation): boolean {
  const decisive = operator === "||";
  let fault: unknown;
  for (const side of sides) {
    try {
      if (truthOf(evaluateCel(side, scope)) === decisive) return decisive;
    } catch (error) {
      if (!(error instanceof CelEvaluationError)) throw error;
      scope.meter.spend(COST_OF_FAULT);
      fault ??= error;
    }
  }
  if (fault !== undefined) throw fault;
  return !decisive;
}

/** One, or none where an optional one is missing. */
function partsOf(expression: CelExpression, isOptional: boolean, scope: CelEvaluation): readonly CelValue[] {
  const value = evaluateCel(expression, scope);
  if (!isOptional) return [value];
  if (!(value instanceof CelOptional))
    return failCel("cannot initialize optional list element from non-optional value");
  return value.value === undefined ? [] : [value.value];
}

function entriesOf(
  { key, value, isOptional }: CelEntry,
  scope: CelEvaluation,
): readonly (readonly [CelValue, CelValue])[] {
  const name = evaluateCel(key, scope);
  return partsOf(value, isOptional, scope).map((part) => [name, part] as const);
}

// Evaluates expressions, and counts what that costs.
// Semantics: https://github.com/google/cel-spec/blob/master/doc/langdef.md; cost: cel-go/interpreter/runtimecost.go

import { costOfCall } from "./call-cost.ts";
import type { CelMeter } from "./cel-budget.ts";
import type { CelEntry, CelExpression, CelMacro } from "./cel-expression.ts";
import {
  CelEvaluationError,
  CelExtension,
  CelList,
  CelLiteralMap,
  CelMap,
  CelOptional,
  type CelValue,
  failCel,
  keyTextOf,
  listOf,
  NO_VALUE,
  truthOf,
} from "./cel-value.ts";
import { equalCel } from "./compare-cel.ts";
import { callCelFunction, TYPE_VALUES } from "./functions/cel-library.ts";

/** The names that an expression may use, such as `self`. */
export type CelScope = { readonly [name: string]: CelValue };

export type CelEvaluation = { readonly names: CelScope; readonly meter: CelMeter };

const LIST_COST = 10;
const MAP_COST = 30;
/** Upstream has literals, and what a loop goes over, for nothing. They take time all the same: a loop of a few steps may have thousands of either. */
const ITEM_COST = 0.1;
const ENTRY_COST = 0.3;

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
  meter.spend(costOfCall(name, [operand, index]));
  return callCelFunction(name, false, [operand, index]);
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

// Macros: what goes over lists and maps, and over values that may be missing.
// Source: github.com/google/cel-go/parser/macro.go, ext/comprehensions.go, cel/library.go (OptionalTypes)

/** Cost of upstream's loops beside their bodies, for each item. */
const STEP_COST = { all: 3, exists: 4, filter: 2, map: 12, kept: 12 } as const;

type Evaluate = (expression: CelExpression, scope: CelEvaluation) => CelValue;

function evaluateMacro(macro: CelMacro, scope: CelEvaluation, evaluate: Evaluate): CelValue {
  const { name, target, variables, bodies } = macro;
  const range = evaluate(target, scope);
  const [first, second] = bodies;
  if (first === undefined) return failCel("no such overload");
  if (name === "optMap" || name === "optFlatMap") return evaluateOptional(macro, range, first, scope, evaluate);
  if (range instanceof CelList || range instanceof CelMap) scope.meter.spend(1 + range.size * ITEM_COST);
  const entries = macroEntriesOf(range, variables.length);
  const evaluateFor = (entry: Entry, body: CelExpression): CelValue =>
    evaluate(body, { ...scope, names: { ...scope.names, ...bind(variables, entry) } });
  const holds = (entry: Entry): boolean => truthOf(evaluateFor(entry, first));
  const step = (cost: number): void => scope.meter.spend(cost);
  switch (name) {
    case "all":
      return decides(entries, holds, false, () => step(STEP_COST.all));
    case "exists":
      return decides(entries, holds, true, () => step(STEP_COST.exists));
    case "exists_one":
    case "existsOne":
      step(STEP_COST.filter * entries.length);
      return entries.filter(holds).length === 1;
    case "filter":
      step(STEP_COST.kept * entries.length);
      return listOf(entries.filter(holds).map(([item = null]) => item));
  }
  const chosen = second === undefined ? entries : entries.filter(holds);
  const results = chosen.map((entry): readonly [Entry, CelValue] => {
    step(STEP_COST.map);
    return [entry, evaluateFor(entry, second ?? first)];
  });
  switch (name) {
    case "transformMap":
      return new CelLiteralMap(results.map(([[key = null], value]) => [key, value]));
    case "transformMapEntry":
      return mergeEntries(results.map(([, value]) => value));
    default:
      return listOf(results.map(([, value]) => value));
  }
}

/** The values of the variables. */
type Entry = readonly CelValue[];

function macroEntriesOf(range: CelValue, variables: number): readonly Entry[] {
  if (range instanceof CelList) {
    return variables === 1
      ? range.items.map((item) => [item])
      : range.items.map((item, index) => [BigInt(index), item]);
  }
  if (!(range instanceof CelMap)) return failCel("no such overload");
  return range.keys().map((key) => (variables === 1 ? [key] : [key, range.get(key) ?? null]));
}

const bind = (variables: readonly string[], entry: Entry): { readonly [name: string]: CelValue } =>
  Object.fromEntries(variables.map((name, index) => [name, entry[index] ?? null]));

/** One item that decides is enough, also where others cannot be evaluated. */
function decides(
  entries: readonly Entry[],
  holds: (entry: Entry) => boolean,
  decisive: boolean,
  step: () => void,
): boolean {
  let fault: unknown;
  for (const entry of entries) {
    step();
    try {
      if (holds(entry) === decisive) return decisive;
    } catch (error) {
      if (!(error instanceof CelEvaluationError)) throw error;
      fault ??= error;
    }
  }
  if (fault !== undefined) throw fault;
  return !decisive;
}

function mergeEntries(maps: readonly CelValue[]): CelLiteralMap {
  const known = new Set<string>();
  const entries = maps.flatMap((map) => (map instanceof CelMap ? pairsOf(map) : failCel("no such overload")));
  for (const [key] of entries) {
    const text = keyTextOf(key);
    if (known.has(text)) return failCel(`insert failed: key ${String(key)} already exists`);
    known.add(text);
  }
  return new CelLiteralMap(entries);
}

const pairsOf = (map: CelMap): readonly (readonly [CelValue, CelValue])[] =>
  map.keys().map((key) => [key, map.get(key) ?? null] as const);

function evaluateOptional(
  { name, variables }: CelMacro,
  range: CelValue,
  body: CelExpression,
  scope: CelEvaluation,
  evaluate: Evaluate,
): CelValue {
  if (!(range instanceof CelOptional)) return failCel(`no such overload`);
  if (range.value === undefined) return NO_VALUE;
  const value = evaluate(body, { ...scope, names: { ...scope.names, ...bind(variables, [range.value]) } });
  return name === "optMap" ? new CelOptional(value) : value;
}

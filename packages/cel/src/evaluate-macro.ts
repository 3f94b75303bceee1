// Macros: `all`, `exists`, `map`, `filter` and the others over lists and maps, and those over optional values.
// Source: github.com/google/cel-go/parser/macro.go, ext/comprehensions.go, cel/library.go (OptionalTypes)

import { COST_OF_FAULT, costOfCall } from "./call-cost.ts";
import { type CelEvaluation, ITEM_COST } from "./cel-evaluation.ts";
import type { CelExpression, CelMacro } from "./cel-expression.ts";
import {
  CelEvaluationError,
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
import { callCelFunction } from "./functions/cel-library.ts";
import { SORT_BY_KEYS } from "./functions/list-functions.ts";

/** Cost of upstream's loops beside their bodies, for each item. */
const STEP_COST = { all: 3, exists: 4, filter: 2, map: 12, kept: 12 } as const;

type Evaluate = (expression: CelExpression, scope: CelEvaluation) => CelValue;

export function evaluateMacro(macro: CelMacro, scope: CelEvaluation, evaluate: Evaluate): CelValue {
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
      return decides(entries, holds, false, STEP_COST.all, step);
    case "exists":
      return decides(entries, holds, true, STEP_COST.exists, step);
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
    case "sortBy": {
      const args = [range, listOf(results.map(([, value]) => value))];
      step(costOfCall(SORT_BY_KEYS, args));
      return callCelFunction(SORT_BY_KEYS, true, args);
    }
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
  cost: number,
  spend: (cost: number) => void,
): boolean {
  let fault: unknown;
  for (const entry of entries) {
    spend(cost);
    try {
      if (holds(entry) === decisive) return decisive;
    } catch (error) {
      if (!(error instanceof CelEvaluationError)) throw error;
      spend(COST_OF_FAULT);
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

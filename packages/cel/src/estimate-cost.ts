// Highest cost of an expression, before it has seen a value: by the sizes that its schema allows.
// Source: github.com/google/cel-go/checker/cost.go

import type { CelExpression, CelMacro } from "./cel-expression.ts";
import type { CelType } from "./cel-type.ts";
import { CelBytes } from "./cel-value.ts";
import type { CheckedCel } from "./check-cel.ts";
import { type CallArgument, estimateCall } from "./estimate-call.ts";
import { add, exactly, multiply, type Range, UNKNOWN, union } from "./estimated-range.ts";
import { SORT_BY_KEYS } from "./functions/list-functions.ts";
import { BIND } from "./parse-cel.ts";
import type { SizeLimits } from "./schema-size.ts";

/**
 * The origin of a value: a part of the schema, or "elsewhere", about which nothing is known. Undefined for a value that the expression itself
 * creates; like upstream, members of such a value count as members of the rule's value.
 */
type Place = SizeLimits | "elsewhere" | undefined;

type Estimate = { readonly cost: Range; readonly place?: Place; readonly size?: Range | undefined };

type Names = { readonly [name: string]: Place };

type Scope = { readonly root: Place; readonly names: Names; readonly typeOf: CheckedCel["typeOf"] };

const NAME = exactly(1);
const FREE = exactly(0);
const NEW_LIST = 10;
const NEW_MAP = 30;
const NEW_MESSAGE = 40;

/** In the units of the evaluation meter. `root`: the limits of `self` and `oldSelf`. */
export const estimateCost = (expression: CelExpression, { typeOf }: CheckedCel, root: SizeLimits): number =>
  estimate(expression, { root, names: { self: root, oldSelf: root }, typeOf }).cost.max;

/** The same for an expression about these names, and no `self`. */
export const estimateCostOf = (
  expression: CelExpression,
  { typeOf }: CheckedCel,
  names: { readonly [name: string]: SizeLimits },
): number => estimate(expression, { root: "elsewhere", names, typeOf }).cost.max;

function estimate(expression: CelExpression, scope: Scope): Estimate {
  switch (expression.type) {
    case "literal":
      return { cost: FREE, size: exactly(sizeOfLiteral(expression.value)) };
    case "identifier":
      return { cost: NAME, place: placeOf(expression.name, scope) };
    case "has":
      return { cost: estimate(expression.operand, scope).cost };
    case "select":
      return estimateSelect(expression, scope);
    case "index":
      return estimateIndex(expression, scope);
    case "call":
      return estimateCallOf(expression, scope);
    case "logic": {
      const [left, right] = expression.sides.map((side) => estimate(side, scope).cost);
      // The second is not looked at where the first decides.
      return { cost: { min: left?.min ?? 0, max: add(left ?? FREE, right ?? FREE).max } };
    }
    case "conditional": {
      const [test, then, otherwise] = [expression.test, expression.then, expression.otherwise];
      const [a, b] = [estimate(then, scope), estimate(otherwise, scope)];
      const size = union(sizeOf(then, a, scope), sizeOf(otherwise, b, scope));
      return { cost: add(estimate(test, scope).cost, union(a.cost, b.cost)), size };
    }
    case "list": {
      const costs = expression.items.map(({ value }) => estimate(value, scope).cost);
      return { cost: add(exactly(NEW_LIST), ...costs), size: exactly(costs.length) };
    }
    case "map": {
      const costs = expression.entries.flatMap(({ key, value }) => [
        estimate(key, scope).cost,
        estimate(value, scope).cost,
      ]);
      return { cost: add(exactly(NEW_MAP), ...costs), size: exactly(expression.entries.length) };
    }
    case "message": {
      const costs = expression.fields.map(({ value }) => estimate(value, scope).cost);
      return { cost: add(exactly(NEW_MESSAGE), ...costs) };
    }
    case "macro":
      return estimateMacro(expression, scope);
  }
}

/** The names of types are taken for what the rule is about, as upstream takes them. */
const placeOf = (name: string, { names, root }: Scope): Place => (Object.hasOwn(names, name) ? names[name] : root);

function sizeOfLiteral(value: unknown): number {
  if (typeof value === "string") return [...value].length;
  return value instanceof CelBytes ? value.bytes.length : 1;
}

const FIXED_SIZES = new Set<CelType["kind"]>(["bool", "double", "duration", "int", "timestamp", "uint"]);
const isFixed = (type: CelType): boolean => (type.kind === "optional" ? isFixed(type.of) : FIXED_SIZES.has(type.kind));

function sizeOf(expression: CelExpression, { size, place }: Estimate, { typeOf }: Scope): Range {
  if (size !== undefined) return size;
  if (place !== undefined && place !== "elsewhere") return { min: 0, max: place.max };
  return isFixed(typeOf(expression)) ? exactly(1) : UNKNOWN;
}

function below(place: Place, { root }: Scope, step: (limits: SizeLimits) => SizeLimits | undefined): Place {
  if (place === undefined) return root;
  return place === "elsewhere" ? place : (step(place) ?? "elsewhere");
}

type OfForm<F extends CelExpression["type"]> = Extract<CelExpression, { readonly type: F }>;

function estimateSelect({ operand, field, isOptional }: OfForm<"select">, scope: Scope): Estimate {
  const { cost, place } = estimate(operand, scope);
  if (isOptional) return { cost: add(cost, NAME) };
  const { kind } = scope.typeOf(operand);
  const isLookedUp = kind === "map" || kind === "object";
  return { cost: isLookedUp ? add(cost, NAME) : cost, place: below(place, scope, ({ fields }) => fields.get(field)) };
}

function estimateIndex({ operand, index, isOptional }: OfForm<"index">, scope: Scope): Estimate {
  const { cost, place } = estimate(operand, scope);
  const whole = add(cost, estimate(index, scope).cost, exactly(1));
  const isPlain = !isOptional && scope.typeOf(operand).kind !== "optional";
  return isPlain ? { cost: whole, place: below(place, scope, ({ items }) => items) } : { cost: whole };
}

function estimateCallOf({ name, target, args }: OfForm<"call">, scope: Scope): Estimate {
  const parts = target === undefined ? args : [target, ...args];
  const estimates = parts.map((part) => ({ part, seen: estimate(part, scope) }));
  const described = estimates.map(({ part, seen }): CallArgument => {
    const { place } = seen;
    const items = place === undefined ? UNKNOWN : itemSize(below(place, scope, (limits) => limits.items));
    return { type: scope.typeOf(part), size: sizeOf(part, seen, scope), itemSize: items, part };
  });
  const { cost, size } = estimateCall(name, target !== undefined, described);
  return { cost: add(cost, ...estimates.map(({ seen }) => seen.cost)), size };
}

const itemSize = (place: Place): Range =>
  place === undefined || place === "elsewhere" ? UNKNOWN : { min: 0, max: place.max };

/** Macros cost what upstream expands them to: a loop with a name for what it has gathered so far. */
function estimateMacro(macro: CelMacro, scope: Scope): Estimate {
  const { name, target, variables, bodies } = macro;
  const range = estimate(target, scope);
  if (name === "optMap" || name === "optFlatMap") return estimateOptional(macro, range.cost, scope);
  if (name === BIND) return estimateBind(macro, range, scope);
  const [list, steps] = [scope.typeOf(target).kind === "list", below.bind(undefined, range.place, scope)];
  const [items, keys] = [steps((limits) => limits.items), list ? ("elsewhere" as const) : steps(({ keys }) => keys)];
  const places = variables.length === 1 ? [list ? items : keys] : [keys, items];
  const names = { ...scope.names, ...Object.fromEntries(variables.map((variable, at) => [variable, places[at]])) };
  const [first = FREE, second] = bodies.map((body) => estimate(body, { ...scope, names }).cost);
  const count = sizeOf(target, range, scope);
  const loop = (begin: number, step: Range, end: number, size: Range): Estimate => ({
    cost: add(range.cost, exactly(begin + end), multiply(count, step)),
    size,
  });
  const chosen = (kept: Range): Range => add(first, union(kept, NAME));
  const last = second ?? first;
  const gather = (begin: number, kept: Range): Estimate =>
    loop(begin, second === undefined ? kept : chosen(kept), 1, count);
  const decided: Range = { min: 1, max: add(NAME, first).max };
  switch (name) {
    case "all":
      return loop(0, add(exactly(2), decided), 1, exactly(1));
    case "exists":
      return loop(0, add(exactly(3), decided), 1, exactly(1));
    case "exists_one":
    case "existsOne":
      return loop(0, chosen(exactly(2)), 2, exactly(1));
    case "filter":
      return loop(NEW_LIST, chosen(exactly(NEW_LIST + 3)), 1, count);
    case "sortBy":
      return estimateSortBy(macro, scope);
    case "transformMap":
      return gather(NEW_MAP, add(exactly(3), last));
    case "transformMapEntry":
      return gather(NEW_MAP, add(exactly(2), last));
    default:
      return gather(NEW_LIST, add(exactly(NEW_LIST + 2), last));
  }
}

/** `<the list>.@sortByAssociatedKeys(<the list>.map(x, <its key>))`, with a name for the list. */
function estimateSortBy({ target, variables, bodies, at }: CelMacro, scope: Scope): Estimate {
  const [body] = bodies;
  if (body === undefined) return { cost: FREE };
  const range = estimate(target, scope);
  const keys = estimate({ type: "macro", at, name: "map", target, variables, bodies: [body] }, scope);
  const count = sizeOf(target, range, scope);
  const types = [scope.typeOf(target), { kind: "list", of: scope.typeOf(body) } as const];
  const args = types.map((type) => ({ part: target, type, size: count, itemSize: UNKNOWN }));
  const { cost, size } = estimateCall(SORT_BY_KEYS, true, args);
  // The name is read twice, and bound once.
  return { cost: add(keys.cost, cost, exactly(NEW_LIST + 2)), size };
}

/** A loop over an empty list, whose first value has the name. */
function estimateBind({ variables, bodies }: CelMacro, { cost, place }: Estimate, scope: Scope): Estimate {
  const [name = ""] = variables;
  const [body] = bodies;
  if (body === undefined) return { cost: FREE };
  const inner = { ...scope, names: { ...scope.names, [name]: place } };
  const last = estimate(body, inner);
  return { cost: add(exactly(NEW_LIST), cost, last.cost), size: sizeOf(body, last, inner) };
}

/** `x.hasValue() ? optional.of(<body with the value>) : optional.none()` */
function estimateOptional({ name, variables, bodies }: CelMacro, target: Range, scope: Scope): Estimate {
  const names = { ...scope.names, ...Object.fromEntries(variables.map((variable) => [variable, undefined])) };
  const [body = FREE] = bodies.map((each) => estimate(each, { ...scope, names }).cost);
  const bound = add(exactly(NEW_LIST), target, exactly(1), body);
  const then = name === "optMap" ? add(bound, exactly(1)) : bound;
  return { cost: add(target, exactly(1), union(then, exactly(1))) };
}

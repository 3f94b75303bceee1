// The JSONPath of printer columns: enough of client-go's dialect for every path a CustomResourceDefinition may carry, with a budget of work.
// Source: k8s.io/client-go/util/jsonpath/{parser,jsonpath}.go

import { isJsonArray, isJsonObject, type JsonArray, type JsonValue } from "@postern/apimachinery/json/json-value";

/** Length of a path, and its steps together with those of its filters: several times those of any published definition. */
export const MAX_JSON_PATH_LENGTH = 1024;
export const MAX_JSON_PATH_STEPS = 64;

/** Thrown where a path has used up its budget. */
export class JsonPathBudgetError extends Error {}

/**
 * Counts the work of one or more paths, in visited values: steps of a path multiply, so that a short path and a small object can take
 * practically endless time.
 */
export class JsonPathBudget {
  #spent = 0;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get spent(): number {
    return this.#spent;
  }

  get isExhausted(): boolean {
    return this.#spent >= this.#limit;
  }

  /** @throws JsonPathBudgetError beyond the limit */
  spend(values: number): void {
    this.#spent += values;
    if (this.#spent > this.#limit) throw new JsonPathBudgetError("the path visits too many values");
  }
}

/** Lazy: visits no more than what the results that are read need. */
type Step = (values: Iterable<JsonValue>, budget: JsonPathBudget) => Iterable<JsonValue>;

/** Finds values in an object, in document order and on demand; missing members are skipped. */
export type JsonPath = (root: JsonValue, budget: JsonPathBudget) => Iterable<JsonValue>;

export const firstOf = (values: Iterable<JsonValue>): JsonValue | undefined => {
  for (const value of values) return value;
  return undefined;
};

/** Why a path of a definition exceeds the limits, or has all descendants in a filter. Undefined if it does not. */
export function jsonPathLimitFault(path: string): string | undefined {
  if (path.length > MAX_JSON_PATH_LENGTH) return `must have at most ${MAX_JSON_PATH_LENGTH} characters`;
  const count = { steps: 0, hasDescendants: false };
  compile(path, count);
  if (count.steps > MAX_JSON_PATH_STEPS) return `must have at most ${MAX_JSON_PATH_STEPS} steps`;
  return count.hasDescendants ? 'must not contain ".."' : undefined;
}

/**
 * Compiles `.spec.user`, `.status.conditions[?(@.type=="Ready")].status`, `.metadata.labels['a/b']`, `.items[-1]`,
 * `.a[0:2]`, `.a[*].b`, `..name`, escaped dots, with or without braces around it.
 * Undefined when the path is none of these, or exceeds the limits.
 */
export function compileJsonPath(path: string): JsonPath | undefined {
  return path.length > MAX_JSON_PATH_LENGTH ? undefined : compile(path, { steps: 0, hasDescendants: false });
}

/** Steps so far, also of the paths around this one. */
type StepCount = { steps: number; hasDescendants: boolean };

function compile(path: string, count: StepCount): JsonPath | undefined {
  const text = path.trim().replace(/^\{(.*)\}$/s, "$1");
  const steps: Step[] = [];
  let rest = text.replace(/^[$@]/, "");
  while (rest !== "") {
    if (++count.steps > MAX_JSON_PATH_STEPS) return undefined;
    const taken = takeStep(rest, count);
    if (taken === undefined) return undefined;
    steps.push(taken.step);
    rest = rest.slice(taken.length);
  }
  return (root, budget) => steps.reduce<Iterable<JsonValue>>((values, step) => step(values, budget), [root]);
}

const FIELD = /^\.?((?:\\.|[^\s.[\]\\*'"(){}])+)/;

function takeStep(text: string, count: StepCount): { readonly step: Step; readonly length: number } | undefined {
  if (text.startsWith("..")) {
    count.hasDescendants = true;
    return { step: descendants, length: text[2] === "[" ? 2 : 1 };
  }
  if (text.startsWith(".*")) return { step: children, length: 2 };
  if (text === ".") return { step: (values) => values, length: 1 };
  if (text.startsWith("[")) {
    const end = closingBracket(text);
    const step = end < 0 ? undefined : bracketStep(text.slice(1, end).trim(), count);
    return step === undefined ? undefined : { step, length: end + 1 };
  }
  const field = FIELD.exec(text);
  if (field === null) return undefined;
  return { step: member((field[1] ?? "").replaceAll(/\\(.)/g, "$1")), length: field[0].length };
}

/** The index of the bracket that closes the one at 0, skipping quotes and nested brackets; -1 if there is none. */
function closingBracket(text: string): number {
  let depth = 0;
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (quote !== "") {
      if (char === "\\") i++;
      else if (char === quote) quote = "";
    } else if (char === "'" || char === '"') quote = char;
    else if (char === "[") depth++;
    else if (char === "]" && --depth === 0) return i;
  }
  return -1;
}

const QUOTED = /^(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")$/;
const INDEX = /^-?\d+$/;
const SLICE = /^(-?\d+)?:(-?\d+)?(?::(-?\d+)?)?$/;
const FILTER = /^\?\((.*)\)$/s;

function bracketStep(inner: string, count: StepCount): Step | undefined {
  if (inner === "*") return children;
  const quoted = unquote(inner);
  if (quoted !== undefined) return member(quoted);
  if (INDEX.test(inner)) return element(Number(inner));
  const slice = SLICE.exec(inner);
  if (slice !== null) return elements(slice[1], slice[2], slice[3]);
  const filter = FILTER.exec(inner);
  if (filter !== null) return filterStep((filter[1] ?? "").trim(), count);
  return unionStep(inner, count);
}

function unquote(text: string): string | undefined {
  const match = QUOTED.exec(text);
  return match === null ? undefined : (match[1] ?? match[2] ?? "").replaceAll(/\\(.)/g, "$1");
}

function unionStep(inner: string, count: StepCount): Step | undefined {
  const parts = inner.split(",");
  if (parts.length < 2) return undefined;
  const steps: Step[] = [];
  for (const part of parts) {
    const step = ++count.steps > MAX_JSON_PATH_STEPS ? undefined : bracketStep(part.trim(), count);
    if (step === undefined) return undefined;
    steps.push(step);
  }
  return function* (values, budget) {
    // In the order of the parts, each for all values.
    const all = [...values];
    for (const step of steps) yield* step(all, budget);
  };
}

const member = (name: string): Step =>
  function* (values, budget) {
    for (const value of values) {
      budget.spend(1);
      const found = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
      if (found !== undefined) yield found;
    }
  };

const element = (index: number): Step =>
  function* (values, budget) {
    for (const value of values) {
      budget.spend(1);
      const found = isJsonArray(value) ? value.at(index) : undefined;
      if (found !== undefined) yield found;
    }
  };

function elements(from: string | undefined, to: string | undefined, by: string | undefined): Step | undefined {
  const step = by === undefined ? 1 : Number(by);
  if (step < 1) return undefined;
  return function* (values, budget) {
    for (const value of values) {
      budget.spend(1);
      if (!isJsonArray(value)) continue;
      const end = indexIn(value, to ?? value.length);
      for (let at = indexIn(value, from ?? 0); at < end; at += step) {
        budget.spend(1);
        yield value[at] ?? null;
      }
    }
  };
}

/** Negative ones count from the end. */
function indexIn({ length }: JsonArray, index: number | string): number {
  const at = Number(index);
  return at < 0 ? Math.max(0, length + at) : Math.min(at, length);
}

function childrenOf(value: JsonValue, budget: JsonPathBudget): readonly JsonValue[] {
  budget.spend(1);
  if (!isJsonArray(value) && !isJsonObject(value)) return [];
  const all = isJsonArray(value) ? value : Object.values(value).filter((child) => child !== undefined);
  budget.spend(all.length);
  return all;
}

const children: Step = function* (values, budget) {
  for (const value of values) {
    if (!isJsonArray(value)) yield* childrenOf(value, budget);
    else {
      for (const child of value) {
        budget.spend(1);
        yield child;
      }
    }
  }
};

/** Each value, and below it all lists and objects, parents first. */
const descendants: Step = function* (values, budget) {
  for (const value of values) {
    const pending = [value];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      yield next;
      const below = childrenOf(next, budget);
      for (let i = below.length - 1; i >= 0; i--) {
        const child = below[i];
        if (typeof child === "object") pending.push(child);
      }
    }
  }
};

const COMPARISON = /^((?:[^=!<>]|[=!](?!=))+)(==|!=|<=|>=|<|>)(.+)$/s;

function filterStep(expression: string, count: StepCount): Step | undefined {
  const comparison = COMPARISON.exec(expression);
  const test = comparison === null ? existence(expression, count) : compare(comparison, count);
  if (test === undefined) return undefined;
  return function* (values, budget) {
    for (const value of values) {
      budget.spend(1);
      if (!isJsonArray(value)) continue;
      for (const item of value) {
        budget.spend(1);
        if (test(item, budget)) yield item;
      }
    }
  };
}

type Test = (element: JsonValue, budget: JsonPathBudget) => boolean;
type Operand = (element: JsonValue, budget: JsonPathBudget) => JsonValue | undefined;

function existence(expression: string, count: StepCount): Test | undefined {
  const path = expression.startsWith("@") ? compile(expression, count) : undefined;
  return path === undefined ? undefined : (value, budget) => firstOf(path(value, budget)) !== undefined;
}

function compare([, left = "", operator = "", right = ""]: readonly string[], count: StepCount): Test | undefined {
  const a = operand(left.trim(), count);
  const b = operand(right.trim(), count);
  if (a === undefined || b === undefined) return undefined;
  return (value, budget) => {
    const x = a(value, budget);
    const y = b(value, budget);
    if (x === undefined || y === undefined) return false;
    if (typeof x === "string" && typeof y === "string") budget.spend(textCost(Math.min(x.length, y.length)));
    return holds(x, operator, y);
  };
}

/** How many values a text counts as. */
export const textCost = (length: number): number => Math.floor(length / 64);

function operand(text: string, count: StepCount): Operand | undefined {
  if (text.startsWith("@")) {
    const path = compile(text, count);
    return path === undefined ? undefined : (value, budget) => firstOf(path(value, budget));
  }
  const literal = unquote(text) ?? LITERALS.get(text) ?? (text === "" ? Number.NaN : Number(text));
  return Number.isNaN(literal) ? undefined : () => literal;
}

const LITERALS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["false", false],
]);

function holds(x: JsonValue, operator: string, y: JsonValue): boolean {
  const kind = comparableKind(x);
  if (x === null || y === null || kind === undefined || kind !== comparableKind(y)) return false;
  // Not `===`, because a number and a bigint may be equal.
  const equal = !(x < y) && !(x > y);
  if (operator === "==" || operator === "!=") return equal === (operator === "==");
  if (equal) return operator === "<=" || operator === ">=";
  return x < y === operator.startsWith("<");
}

function comparableKind(value: JsonValue): string | undefined {
  const kind = typeof value;
  if (kind === "bigint") return "number";
  return kind === "number" || kind === "string" || kind === "boolean" ? kind : undefined;
}

// Evaluates the expressions of validation rules over JSON.
// Semantics: https://github.com/google/cel-spec/blob/master/doc/langdef.md, https://kubernetes.io/docs/reference/using-api/cel/

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { compilePattern } from "@postern/apimachinery/schema/pattern/pattern";
import { PatternSyntaxError } from "@postern/apimachinery/schema/pattern/pattern-syntax";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { CelExpression } from "./cel-syntax.ts";

/** The names that an expression may use, such as `self`. */
export type CelScope = { readonly [name: string]: JsonValue };

/** What cannot be evaluated: a missing key, operands that do not go together, a function that is not known. */
export class CelEvaluationError extends Error {
  override readonly name = "CelEvaluationError";
}

/** More was asked for than evaluations may cost. */
export class CelBudgetError extends Error {
  override readonly name = "CelBudgetError";
}

/** What evaluations may still cost, in steps: about the parts of expressions that are evaluated and the values that they go through. */
export type CelBudget = {
  /** Throws CelBudgetError when nothing is left. */
  spend(steps: number): void;
};

/** `within` pays as well. */
export function createCelBudget(steps: number, within?: CelBudget): CelBudget {
  let left = steps;
  return {
    spend(cost) {
      left -= cost;
      if (left < 0) throw new CelBudgetError("operation cancelled: actual cost limit exceeded");
      within?.spend(cost);
    },
  };
}

type Evaluation = { readonly names: CelScope; readonly budget: CelBudget };

/** Characters that cost as much as one step. */
const CHARACTERS_PER_STEP = 10;

/** Of going through a value once. */
function costOf(value: JsonValue): number {
  if (typeof value === "string") return value.length / CHARACTERS_PER_STEP;
  const members = isJsonArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  return members.reduce<number>((sum, member) => sum + 1 + costOf(member ?? null), 0);
}

const fail = (why: string): never => {
  throw new CelEvaluationError(why);
};

/** Throws CelEvaluationError, and CelBudgetError when it costs more than there is. */
export const evaluateCel = (expression: CelExpression, names: CelScope, budget: CelBudget): JsonValue =>
  evaluate(expression, { names, budget });

function evaluate(expression: CelExpression, scope: Evaluation): JsonValue {
  scope.budget.spend(1);
  switch (expression.type) {
    case "literal":
      return expression.value;
    case "identifier":
      return scope.names[expression.name] ?? fail(`undeclared reference to ${quoteGo(expression.name)}`);
    case "select":
      return memberOf(evaluate(expression.operand, scope), expression.field);
    case "index":
      return elementOf(evaluate(expression.operand, scope), evaluate(expression.index, scope));
    case "unary":
      return evaluateUnary(expression.operator, evaluate(expression.operand, scope));
    case "binary":
      return evaluateBinary(expression, scope);
    case "conditional":
      return truthOf(evaluate(expression.test, scope))
        ? evaluate(expression.then, scope)
        : evaluate(expression.otherwise, scope);
    case "list":
      return expression.items.map((item) => evaluate(item, scope));
    case "map":
      return Object.fromEntries(
        expression.entries.map(([key, value]) => [String(evaluate(key, scope)), evaluate(value, scope)]),
      );
    case "call":
      return evaluateCall(expression, scope);
  }
}

/** Property names that CEL reserves are escaped in rules. */
const ESCAPED: readonly (readonly [string, string])[] = [
  ["__underscores__", "__"],
  ["__dot__", "."],
  ["__dash__", "-"],
  ["__slash__", "/"],
];

function unescapeField(field: string): string {
  const keyword = /^__([a-z]+)__$/.exec(field)?.[1];
  if (keyword !== undefined && !ESCAPED.some(([escaped]) => escaped === field)) return keyword;
  return ESCAPED.reduce((name, [escaped, plain]) => name.replaceAll(escaped, plain), field);
}

function memberOf(value: JsonValue, field: string): JsonValue {
  const name = unescapeField(field);
  if (!isJsonObject(value) || !Object.hasOwn(value, name)) return fail(`no such key: ${name}`);
  return value[name] ?? null;
}

function elementOf(value: JsonValue, index: JsonValue): JsonValue {
  if (isJsonObject(value)) return memberOf(value, String(index));
  if (!isJsonArray(value)) return fail("no such overload");
  return value[Number(index)] ?? fail(`index out of bounds: ${index}`);
}

const truthOf = (value: JsonValue): boolean => (typeof value === "boolean" ? value : fail("no such overload"));

function evaluateUnary(operator: "!" | "-", value: JsonValue): JsonValue {
  if (operator === "!") return !truthOf(value);
  if (typeof value === "number" || typeof value === "bigint") return -value;
  return fail("no such overload");
}

type Binary = Extract<CelExpression, { readonly type: "binary" }>;

function evaluateBinary({ operator, left, right }: Binary, scope: Evaluation): JsonValue {
  if (operator === "&&" || operator === "||") return evaluateLogic(operator, left, right, scope);
  const a = evaluate(left, scope);
  const b = evaluate(right, scope);
  scope.budget.spend(costOf(a) + costOf(b));
  switch (operator) {
    case "==":
      return sameValue(a, b);
    case "!=":
      return !sameValue(a, b);
    case "in":
      if (isJsonArray(b)) return b.some((item) => sameValue(item, a));
      return isJsonObject(b) ? Object.hasOwn(b, String(a)) : fail("no such overload");
    case "+":
      return add(a, b);
    case "<":
      return compare(a, b) < 0;
    case "<=":
      return compare(a, b) <= 0;
    case ">":
      return compare(a, b) > 0;
    case ">=":
      return compare(a, b) >= 0;
    default:
      return calculate(operator, a, b);
  }
}

/** Either side may decide alone, also where the other cannot be evaluated. */
function evaluateLogic(operator: "&&" | "||", left: CelExpression, right: CelExpression, scope: Evaluation): boolean {
  const decisive = operator === "||";
  let fault: unknown;
  for (const side of [left, right]) {
    try {
      if (truthOf(evaluate(side, scope)) === decisive) return decisive;
    } catch (error) {
      if (!(error instanceof CelEvaluationError)) throw error;
      fault = error;
    }
  }
  if (fault !== undefined) throw fault;
  return !decisive;
}

const isNumber = (value: JsonValue): value is number | bigint => typeof value === "number" || typeof value === "bigint";

/** Numbers are the same when their values are, whichever way they are held. */
// biome-ignore lint/suspicious/noDoubleEquals: 1 and 1n are one value here
const sameValue = (a: JsonValue, b: JsonValue): boolean => (isNumber(a) && isNumber(b) ? a == b : equalJson(a, b));

function compare(a: JsonValue, b: JsonValue): number {
  const comparable = (isNumber(a) && isNumber(b)) || (typeof a === "string" && typeof b === "string");
  if (!comparable) return fail("no such overload");
  return a < b ? -1 : Number(a > b);
}

function add(a: JsonValue, b: JsonValue): JsonValue {
  if (typeof a === "string" && typeof b === "string") return a + b;
  if (isJsonArray(a) && isJsonArray(b)) return [...a, ...b];
  return calculate("+", a, b);
}

function calculate(operator: string, a: JsonValue, b: JsonValue): JsonValue {
  if (!isNumber(a) || !isNumber(b)) return fail("no such overload");
  const [x, y] = [Number(a), Number(b)];
  const isWhole = Number.isInteger(x) && Number.isInteger(y);
  if (isWhole && y === 0 && (operator === "/" || operator === "%")) return fail("division by zero");
  switch (operator) {
    case "+":
      return x + y;
    case "-":
      return x - y;
    case "*":
      return x * y;
    case "/":
      return isWhole ? Math.trunc(x / y) : x / y;
    case "%":
      return x % y;
    default:
      return fail(`unknown operator ${operator}`);
  }
}

type Call = Extract<CelExpression, { readonly type: "call" }>;

function evaluateCall(call: Call, scope: Evaluation): JsonValue {
  const [first] = call.args;
  if (call.name === "has" && call.target === undefined) return isPresent(first, scope);
  if (call.target !== undefined && MACROS.has(call.name)) return evaluateMacro(call, call.target, scope);
  const args = call.args.map((arg) => evaluate(arg, scope));
  const values = call.target === undefined ? args : [evaluate(call.target, scope), ...args];
  scope.budget.spend(values.reduce<number>((sum, value) => sum + costOf(value), 0));
  return applyFunction(call.name, values);
}

function isPresent(expression: CelExpression | undefined, scope: Evaluation): boolean {
  if (expression?.type !== "select") return fail("invalid argument to has() macro");
  const operand = evaluate(expression.operand, scope);
  return isJsonObject(operand) && Object.hasOwn(operand, unescapeField(expression.field));
}

const MACROS = new Set(["all", "exists", "exists_one", "filter", "map"]);

function evaluateMacro({ name, args }: Call, target: CelExpression, scope: Evaluation): JsonValue {
  const [variable, ...bodies] = args;
  const [body, mapped] = bodies;
  if (variable?.type !== "identifier" || body === undefined) return fail(`invalid argument to ${name}() macro`);
  const range = evaluate(target, scope);
  const items = isJsonObject(range) ? Object.keys(range) : isJsonArray(range) ? range : fail("no such overload");
  const valueFor = (item: JsonValue, expression: CelExpression) =>
    evaluate(expression, { ...scope, names: { ...scope.names, [variable.name]: item } });
  const holds = (item: JsonValue): boolean => truthOf(valueFor(item, body));
  switch (name) {
    case "all":
      return items.every(holds);
    case "exists":
      return items.some(holds);
    case "exists_one":
      return items.filter(holds).length === 1;
    case "filter":
      return items.filter(holds);
    default:
      return mapped === undefined
        ? items.map((item) => valueFor(item, body))
        : items.filter(holds).map((item) => valueFor(item, mapped));
  }
}

function applyFunction(name: string, [subject = null, argument = null]: readonly JsonValue[]): JsonValue {
  if (name === "size") return sizeOf(subject);
  if (name === "string") return typeof subject === "string" ? subject : String(subject);
  if (name === "int" || name === "uint") return Math.trunc(Number(subject));
  if (name === "double") return Number(subject);
  if (name === "dyn") return subject;
  if (typeof subject === "string") return applyToText(name, subject, argument);
  if (isJsonArray(subject)) return applyToList(name, subject, argument);
  return fail(`undeclared reference to ${quoteGo(name)}`);
}

function sizeOf(value: JsonValue): number {
  if (typeof value === "string") return [...value].length;
  if (isJsonArray(value)) return value.length;
  return isJsonObject(value) ? Object.keys(value).length : fail("no such overload");
}

function applyToText(name: string, text: string, argument: JsonValue): JsonValue {
  const other = String(argument);
  switch (name) {
    case "startsWith":
      return text.startsWith(other);
    case "endsWith":
      return text.endsWith(other);
    case "contains":
      return text.includes(other);
    case "matches":
      return matches(text, other);
    case "lowerAscii":
      return text.toLowerCase();
    case "upperAscii":
      return text.toUpperCase();
    case "trim":
      return text.trim();
    case "split":
      return text.split(other);
    case "indexOf":
      return text.indexOf(other);
    default:
      return fail(`undeclared reference to ${quoteGo(name)}`);
  }
}

/** In time linear to the text: the rule and the text may be those of two tenants. */
function matches(text: string, pattern: string): boolean {
  try {
    return compilePattern(pattern).test(text);
  } catch (error) {
    if (error instanceof PatternSyntaxError) return fail(error.message);
    throw error;
  }
}

function applyToList(name: string, list: readonly JsonValue[], argument: JsonValue): JsonValue {
  switch (name) {
    case "join":
      return list.join(argument === null ? "" : String(argument));
    case "isSorted":
      return list.every((item, index) => index === 0 || compare(list[index - 1] ?? null, item) <= 0);
    case "sum":
      return list.reduce<number>((sum, item) => sum + Number(item), 0);
    case "min":
      return list.reduce((least, item) => (compare(item, least) < 0 ? item : least));
    case "max":
      return list.reduce((most, item) => (compare(item, most) > 0 ? item : most));
    case "indexOf":
      return list.findIndex((item) => sameValue(item, argument));
    default:
      return fail(`undeclared reference to ${quoteGo(name)}`);
  }
}

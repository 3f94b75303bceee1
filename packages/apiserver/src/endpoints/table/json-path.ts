// The JSONPath of printer columns: enough of client-go's dialect for every path a CustomResourceDefinition may carry.
// Source: k8s.io/client-go/util/jsonpath/{parser,jsonpath}.go

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";

type Step = (values: readonly JsonValue[]) => readonly JsonValue[];

/** Finds values in an object, in document order; missing members are skipped. */
export type JsonPath = (root: JsonValue) => readonly JsonValue[];

/**
 * Compiles `.spec.user`, `.status.conditions[?(@.type=="Ready")].status`, `.metadata.labels['a/b']`, `.items[-1]`,
 * `.a[0:2]`, `.a[*].b`, `..name`, escaped dots, with or without braces around it.
 * Undefined when the path is none of these.
 */
export function compileJsonPath(path: string): JsonPath | undefined {
  const text = path.trim().replace(/^\{(.*)\}$/s, "$1");
  const steps: Step[] = [];
  let rest = text.replace(/^[$@]/, "");
  while (rest !== "") {
    const taken = takeStep(rest);
    if (taken === undefined) return undefined;
    steps.push(taken.step);
    rest = rest.slice(taken.length);
  }
  return (root) =>
    steps.reduce<readonly JsonValue[]>((values, step) => (values.length === 0 ? values : step(values)), [root]);
}

const FIELD = /^\.?((?:\\.|[^\s.[\]\\*'"(){}])+)/;

function takeStep(text: string): { readonly step: Step; readonly length: number } | undefined {
  if (text.startsWith("..")) return { step: descendants, length: text[2] === "[" ? 2 : 1 };
  if (text.startsWith(".*")) return { step: children, length: 2 };
  if (text === ".") return { step: (values) => values, length: 1 };
  if (text.startsWith("[")) {
    const end = closingBracket(text);
    const step = end < 0 ? undefined : bracketStep(text.slice(1, end).trim());
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

function bracketStep(inner: string): Step | undefined {
  if (inner === "*") return children;
  const quoted = unquote(inner);
  if (quoted !== undefined) return member(quoted);
  if (INDEX.test(inner)) return element(Number(inner));
  const slice = SLICE.exec(inner);
  if (slice !== null) return elements(slice[1], slice[2], slice[3]);
  const filter = FILTER.exec(inner);
  if (filter !== null) return filterStep((filter[1] ?? "").trim());
  return unionStep(inner);
}

function unquote(text: string): string | undefined {
  const match = QUOTED.exec(text);
  return match === null ? undefined : (match[1] ?? match[2] ?? "").replaceAll(/\\(.)/g, "$1");
}

function unionStep(inner: string): Step | undefined {
  const parts = inner.split(",");
  if (parts.length < 2) return undefined;
  const steps = parts.map((part) => bracketStep(part.trim()));
  if (!steps.every((step) => step !== undefined)) return undefined;
  return (values) => steps.flatMap((step) => step(values));
}

const member =
  (name: string): Step =>
  (values) =>
    values.flatMap((value) => {
      const found = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
      return found === undefined ? [] : [found];
    });

const element =
  (index: number): Step =>
  (values) =>
    values.flatMap((value) => {
      const found = isJsonArray(value) ? value.at(index) : undefined;
      return found === undefined ? [] : [found];
    });

function elements(from: string | undefined, to: string | undefined, by: string | undefined): Step | undefined {
  const step = by === undefined ? 1 : Number(by);
  if (step < 1) return undefined;
  return (values) =>
    values.flatMap((value) => {
      if (!isJsonArray(value)) return [];
      const slice = value.slice(from === undefined ? 0 : Number(from), to === undefined ? undefined : Number(to));
      return slice.filter((_, i) => i % step === 0);
    });
}

const childrenOf = (value: JsonValue): readonly JsonValue[] => {
  if (isJsonArray(value)) return value;
  return isJsonObject(value) ? Object.values(value).filter((child) => child !== undefined) : [];
};

const children: Step = (values) => values.flatMap(childrenOf);

const descendants: Step = (values) =>
  values.flatMap((value) => [value, ...descendants(childrenOf(value).filter((child) => typeof child === "object"))]);

const COMPARISON = /^((?:[^=!<>]|[=!](?!=))+)(==|!=|<=|>=|<|>)(.+)$/s;

function filterStep(expression: string): Step | undefined {
  const comparison = COMPARISON.exec(expression);
  const test = comparison === null ? existence(expression) : compare(comparison);
  if (test === undefined) return undefined;
  return (values) => values.flatMap((value) => (isJsonArray(value) ? value.filter(test) : []));
}

type Test = (element: JsonValue) => boolean;

function existence(expression: string): Test | undefined {
  const path = expression.startsWith("@") ? compileJsonPath(expression) : undefined;
  return path === undefined ? undefined : (value) => path(value).length > 0;
}

function compare([, left = "", operator = "", right = ""]: readonly string[]): Test | undefined {
  const a = operand(left.trim());
  const b = operand(right.trim());
  if (a === undefined || b === undefined) return undefined;
  return (value) => {
    const x = a(value);
    const y = b(value);
    return x !== undefined && y !== undefined && holds(x, operator, y);
  };
}

function operand(text: string): ((value: JsonValue) => JsonValue | undefined) | undefined {
  if (text.startsWith("@")) {
    const path = compileJsonPath(text);
    return path === undefined ? undefined : (value) => path(value)[0];
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

// SCIM filters.
// Source: RFC 7644 section 3.4.2.2

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { ScimFault } from "./scim-fault.ts";

export type ScimFilter = (resource: JsonObject) => boolean;

const invalid = (message: string): ScimFault => new ScimFault(400, message, "invalidFilter");

const MAX_LENGTH = 1_000;
const MAX_DEPTH = 10;
/** Directories send at most three. */
const MAX_COMPARISONS = 20;
const TOKEN = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/y;

/** Throws ScimFault. */
export function parseFilter(text: string): ScimFilter {
  if (text.length > MAX_LENGTH) throw invalid("the filter is too long");
  const tokens = tokensOf(text);
  let at = 0;
  let comparisons = 0;
  const peek = (): string => (tokens[at] ?? "").toLowerCase();
  const take = (): string => tokens[at++] ?? "";

  const any = (depth: number): ScimFilter => {
    if (depth > MAX_DEPTH) throw invalid("the filter is nested too deeply");
    let left = all(depth);
    while (peek() === "or") {
      take();
      const [one, other] = [left, all(depth)];
      left = (resource) => one(resource) || other(resource);
    }
    return left;
  };
  const all = (depth: number): ScimFilter => {
    let left = single(depth);
    while (peek() === "and") {
      take();
      const [one, other] = [left, single(depth)];
      left = (resource) => one(resource) && other(resource);
    }
    return left;
  };
  const single = (depth: number): ScimFilter => {
    if (peek() === "not") {
      take();
      const inner = single(depth + 1);
      return (resource) => !inner(resource);
    }
    if (peek() === "(") {
      take();
      const inner = any(depth + 1);
      if (take() !== ")") throw invalid("a parenthesis is not closed");
      return inner;
    }
    const path = take();
    if (peek() === "[") {
      take();
      const inner = any(depth + 1);
      if (take() !== "]") throw invalid("a bracket is not closed");
      const steps = stepsOf(path);
      const chosen = (resource: JsonObject): readonly JsonObject[] =>
        entriesAt(resource, steps).filter((value): value is JsonObject => isJsonObject(value) && inner(value));
      if (!peek().startsWith(".")) return (resource) => chosen(resource).length > 0;
      // Not in the grammar of RFC 7644, but Entra ID filters by emails[type eq "work"].value.
      const below = stepsOf(take().slice(1));
      return comparison([...steps, ...below], (resource) =>
        chosen(resource).flatMap((value) => valuesAt(value, below)),
      );
    }
    const steps = stepsOf(path);
    return comparison(steps, (resource) => valuesAt(resource, steps));
  };
  const comparison = (
    steps: readonly string[],
    valuesIn: (resource: JsonObject) => readonly JsonValue[],
  ): ScimFilter => {
    if (++comparisons > MAX_COMPARISONS) throw invalid("the filter has too many comparisons");
    const operator = take().toLowerCase();
    if (operator === "pr") return (resource) => valuesIn(resource).length > 0;
    const compare = OPERATORS.get(operator);
    if (compare === undefined || at >= tokens.length) throw invalid("the filter is not valid");
    const fold = isCaseExact(steps) ? (text: string) => text : (text: string) => text.toLowerCase();
    const wanted = comparable(literalOf(take()), fold);
    return (resource) => {
      const values = valuesIn(resource).map((value) => comparable(value, fold));
      return operator === "ne"
        ? values.every((value) => compare(value, wanted))
        : values.some((value) => compare(value, wanted));
    };
  };

  const filter = any(0);
  if (at < tokens.length) throw invalid("the filter has unexpected text at its end");
  return filter;
}

function tokensOf(text: string): readonly string[] {
  const tokens: string[] = [];
  const expression = new RegExp(TOKEN);
  const end = text.trimEnd().length;
  while (expression.lastIndex < end) {
    const found = expression.exec(text);
    if (found === null) throw invalid("the filter is not valid");
    tokens.push(found[1] ?? found[2] ?? found[3] ?? "");
  }
  return tokens;
}

const WORD = /^[\p{L}\p{N}][\p{L}\p{N}@._+-]*$/u;

type Comparable = string | number | boolean | null;

function literalOf(token: string): Comparable {
  try {
    const value: unknown = JSON.parse(token);
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean" || value === null)
      return value;
  } catch {
    // Entra ID documents filters with unquoted words.
    if (WORD.test(token)) return token;
  }
  throw invalid("a value must be a string in quotes, a number, true, false or null");
}

/** As their schema declares them (RFC 7643 section 3.1). All others are compared case-insensitively, like names of people. */
const CASE_EXACT: readonly string[] = ["id", "externalid", "meta.resourcetype", "meta.location", "meta.version"];

const isCaseExact = (steps: readonly string[]): boolean =>
  CASE_EXACT.includes(steps.join(".").toLowerCase()) || steps.at(-1)?.toLowerCase() === "$ref";

const comparable = (value: JsonValue, fold: (text: string) => string): Comparable => {
  if (typeof value === "string") return fold(value);
  // Integers may have any size.
  if (typeof value === "bigint") return Number(value);
  return typeof value === "object" ? null : value;
};

const asTexts =
  (holds: (value: string, wanted: string) => boolean) =>
  (value: Comparable, wanted: Comparable): boolean =>
    typeof value === "string" && typeof wanted === "string" && holds(value, wanted);
const inOrder =
  (holds: (order: number) => boolean) =>
  (value: Comparable, wanted: Comparable): boolean => {
    if (value === null || wanted === null || typeof value !== typeof wanted) return false;
    return holds(value < wanted ? -1 : value > wanted ? 1 : 0);
  };

/** Entra ID writes booleans as strings: `roles[primary eq "True"]`. */
const isEqual = (value: Comparable, wanted: Comparable): boolean =>
  value === wanted || (typeof value === "boolean" && String(value) === wanted);

const OPERATORS: ReadonlyMap<string, (value: Comparable, wanted: Comparable) => boolean> = new Map([
  ["eq", isEqual],
  ["ne", (value, wanted) => !isEqual(value, wanted)],
  ["co", asTexts((value, wanted) => value.includes(wanted))],
  ["sw", asTexts((value, wanted) => value.startsWith(wanted))],
  ["ew", asTexts((value, wanted) => value.endsWith(wanted))],
  ["gt", inOrder((order) => order > 0)],
  ["ge", inOrder((order) => order >= 0)],
  ["lt", inOrder((order) => order < 0)],
  ["le", inOrder((order) => order <= 0)],
]);

/** A complex value is compared by its `value`. */
const valuesAt = (resource: JsonObject, steps: readonly string[]): readonly JsonValue[] =>
  entriesAt(resource, steps).map((value) =>
    isJsonObject(value) && value["value"] !== undefined ? (value["value"] ?? null) : value,
  );

/** All values of an attribute and sub-attribute. */
function entriesAt(resource: JsonObject, steps: readonly string[]): readonly JsonValue[] {
  let values: readonly JsonValue[] = [resource];
  for (const step of steps)
    values = values.flatMap((value) => {
      if (!isJsonObject(value)) return [];
      const name = memberName(value, step);
      const found = name === undefined ? undefined : value[name];
      return isJsonArray(found) ? found : found === undefined || found === null ? [] : [found];
    });
  return values;
}

/** Attribute names are case-insensitive. */
export function memberName(object: JsonObject, name: string): string | undefined {
  if (Object.hasOwn(object, name)) return name;
  const folded = name.toLowerCase();
  return Object.keys(object).find((own) => own.toLowerCase() === folded);
}

const CORE_SCHEMA = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/i;

/** `urn:ietf:params:scim:schemas:core:2.0:User:userName` is userName. An attribute of an extension with the same name is different. */
export const withoutSchema = (path: string): string => path.replace(CORE_SCHEMA, "");

/** The attribute and its sub-attribute. Names of extensions contain dots, and are not split. */
export const stepsOf = (path: string): readonly string[] => {
  const own = withoutSchema(path);
  return /^urn:/i.test(own) ? [own] : own.split(".");
};

// One step of a field path, in the canonical text that FieldsV1 uses as a member name.
// Source: sigs.k8s.io/structured-merge-diff/fieldpath/element.go, serialize-pe.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { quoteGo } from "@postern/apimachinery/text/go-quote";

/**
 * `f:<name>` a member, `k:<json object>` a list item by its keys, `v:<json>` an item of a set, `i:<n>` an item by index.
 * The text is canonical, so that equal steps are equal strings and may be keys of a Map.
 */
export type PathElement = `f:${string}` | `k:${string}` | `v:${string}` | `i:${string}`;

export const fieldElement = (name: string): PathElement => `f:${name}`;

/** `keys` are the key fields of a list item, in any order. */
export const keyElement = (keys: JsonObject): PathElement => `k:${stringifyJson(sortMembers(keys))}`;

export const valueElement = (value: JsonValue): PathElement =>
  typeof value === "string" ? `v:${JSON.stringify(value)}` : `v:${stringifyJson(sortDeep(value))}`;

export const indexElement = (index: number): PathElement => `i:${index}`;

/** The name of a member step; undefined for steps into a list. */
export const fieldNameOf = (element: PathElement): string | undefined =>
  element.startsWith("f:") ? element.slice(2) : undefined;

/** A text that is no path element. */
export class PathElementError extends Error {
  override readonly name = "PathElementError";
}

/**
 * Reads one FieldsV1 member name; undefined for a kind of element that this version does not know.
 * @throws PathElementError when the kind is known and the rest cannot be read.
 */
export function parsePathElement(text: string): PathElement | undefined {
  if (text.length < 2 || text[1] !== ":") throw new PathElementError(`path element ${quoteGo(text)} lacks its kind`);
  const rest = text.slice(2);
  switch (text[0]) {
    case "f":
      return `f:${rest}`;
    case "v":
      return valueElement(parseElementJson(rest));
    case "k":
      return parseKeyElement(rest);
    case "i":
      if (!/^[+-]?\d+$/.test(rest)) throw new PathElementError(`index ${quoteGo(rest)} is not an integer`);
      return indexElement(Number(rest));
    default:
      return undefined;
  }
}

/** One key whose value is a text without escapes: it is canonical as it is, as most are. */
const PLAIN_KEY = /^\{"[\w.-]+":"[\w./:@ -]*"\}$/;

function parseKeyElement(text: string): PathElement {
  if (PLAIN_KEY.test(text)) return `k:${text}`;
  const keys = parseElementJson(text);
  if (!isJsonObject(keys)) throw new PathElementError(`key ${quoteGo(text)} is not an object`);
  return keyElement(keys);
}

function parseElementJson(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new PathElementError(`path element value ${quoteGo(text)} is not JSON`, { cause });
  }
}

/** The step as messages print it: `.spec`, `[name="a"]`, `[="x"]`, `[0]`. */
export function formatPathElement(element: PathElement): string {
  const rest = element.slice(2);
  switch (element[0]) {
    case "f":
      return `.${rest}`;
    case "k":
      return `[${formatKeys(parseElementJson(rest))}]`;
    case "v":
      return `[=${formatValue(parseElementJson(rest))}]`;
    default:
      return `[${rest}]`;
  }
}

function formatKeys(keys: JsonValue): string {
  if (!isJsonObject(keys)) return "";
  return Object.entries(keys)
    .map(([name, value]) => `${name}=${formatValue(value ?? null)}`)
    .join(",");
}

function formatValue(value: JsonValue): string {
  if (typeof value === "string") return quoteGo(value);
  if (isJsonArray(value)) return `[${value.map(formatValue).join(",")}]`;
  if (isJsonObject(value)) {
    return Object.entries(value)
      .map(([name, member]) => `${name}=${formatValue(member ?? null)}`)
      .join("");
  }
  return String(value);
}

/** The elements in canonical order: members, keys, values, indices; each kind by its own content. */
export function sortPathElements(elements: Iterable<PathElement>): PathElement[] {
  const list = [...elements];
  if (list.length < 2) return list;
  if (list.every((element) => element.startsWith("f:"))) return list.sort();
  const texts = sortedTexts(list);
  if (texts !== undefined) return texts;
  return list
    .map((element) => ({ element, rank: "fkvi".indexOf(element[0] ?? ""), content: sortableContentOf(element) }))
    .sort((a, b) => a.rank - b.rank || compareValues(a.content, b.content))
    .map(({ element }) => element);
}

/** All but the value of the one key of an item, or of an item of a set, where that is a text without escapes. */
const AROUND_TEXT = /^(v:"|k:\{"[^"\\]+":")[^"\\]*("\}?)$/;

/** Items that differ in one text alone, as in most lists: sorted by that, without parsing any. Undefined for others. */
function sortedTexts(list: readonly PathElement[]): PathElement[] | undefined {
  const [, before = "", after = ""] = AROUND_TEXT.exec(list[0] ?? "") ?? [];
  if (before === "" || after.length !== (before.startsWith("k") ? 2 : 1)) return undefined;
  const texts: string[] = [];
  for (const element of list) {
    if (!element.startsWith(before) || !element.endsWith(after)) return undefined;
    const text = element.slice(before.length, element.length - after.length);
    if (text.includes('"') || text.includes("\\")) return undefined;
    texts.push(text);
  }
  return texts.sort().map((text) => `${before}${text}${after}` as PathElement);
}

/** Keys as the list of their names and values, once for all comparisons. */
function sortableContentOf(element: PathElement): JsonValue {
  const content = contentOf(element);
  return isJsonObject(content) && element.startsWith("k:") ? flattenMembers(content) : content;
}

const contentOf = (element: PathElement): JsonValue =>
  element.startsWith("f:") ? element.slice(2) : parseElementJson(element.slice(2));

/** Numbers, strings, booleans, lists, maps and null come in this order. */
function typeRank(value: JsonValue): number {
  if (typeof value === "number" || typeof value === "bigint") return 0;
  if (typeof value === "string") return 1;
  if (typeof value === "boolean") return 2;
  if (value === null) return 5;
  return isJsonArray(value) ? 3 : 4;
}

function compareValues(a: JsonValue, b: JsonValue): number {
  const byType = typeRank(a) - typeRank(b);
  if (byType !== 0) return byType;
  if (isJsonArray(a) && isJsonArray(b)) return compareLists(a, b);
  if (isJsonObject(a) && isJsonObject(b)) return compareLists(flattenMembers(a), flattenMembers(b));
  if (a === null || b === null || a === b) return 0;
  return a < b ? -1 : 1;
}

function compareLists(a: readonly JsonValue[], b: readonly JsonValue[]): number {
  for (const [index, item] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    const order = compareValues(item, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

const flattenMembers = (object: JsonObject): JsonValue[] =>
  Object.entries(object).flatMap(([name, value]) => [name, value ?? null]);

function sortMembers(object: JsonObject): JsonObject {
  const names = Object.keys(object);
  if (names.length < 2) return object;
  return Object.fromEntries(names.sort().map((name) => [name, object[name]]));
}

function sortDeep(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(sortDeep);
  if (!isJsonObject(value)) return value;
  return sortMembers(
    Object.fromEntries(Object.entries(value).map(([name, member]) => [name, sortDeep(member ?? null)])),
  );
}

/** From the root of an object to one of its fields. Source: sigs.k8s.io/structured-merge-diff/fieldpath/path.go */
export type FieldPath = readonly PathElement[];

/** Far longer than the paths of any schema: longer ones are refused, for the sake of the stack. */
export const MAX_PATH_LENGTH = 512;

/** A path that runs through members only: `fieldPath("metadata", "name")`. */
export const fieldPath = (...names: readonly string[]): FieldPath => names.map(fieldElement);

/** The path as messages print it: `.spec.scope.projects[project="p1"].note`. */
export const formatFieldPath = (path: FieldPath): string => path.map(formatPathElement).join("");

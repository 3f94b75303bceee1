// Cost of calls, in the units of upstream, by the values that they have to look at.
// Source: github.com/google/cel-go/interpreter/runtimecost.go, k8s.io/apiserver/pkg/cel/library/cost.go

import { CelBytes, CelList, CelMap, CelOptional, type CelValue } from "./cel-value.ts";
import { SORT_BY_KEYS } from "./functions/list-functions.ts";
import { ZONED_PARTS } from "./functions/time-functions.ts";

/** Cost of reading a text, for each character. */
const TRAVERSAL = 0.1;
/** Cost of comparing or hashing a whole text, for each character; ten values cost one unit. */
const SCAN = 0.01;
/** Cost of a pattern, for each character. */
const PATTERN = 0.25;

function sizeOf(value: CelValue | undefined): number {
  if (typeof value === "string") return value.length;
  if (value instanceof CelBytes) return value.bytes.length;
  return value instanceof CelList || value instanceof CelMap ? value.size : 1;
}

const traversal = (value: CelValue | undefined, times = 1): number => Math.ceil(sizeOf(value) * times * TRAVERSAL);

/** Cost of each item, and of reading those that are texts. */
function listTraversal(value: CelValue | undefined): number {
  if (!(value instanceof CelList)) return traversal(value);
  return value.items.reduce<number>((sum, item) => sum + (isText(item) ? traversal(item) : 1), 0);
}

/**
 * A list may have one list in several places, and that one another: written out, a short expression makes more values than can ever be counted. So each
 * is counted once.
 */
function countedOnce(count: (value: CelList | CelMap | CelOptional) => number) {
  const known = new WeakMap<object, number>();
  return (value: CelList | CelMap | CelOptional): number => {
    const before = known.get(value) ?? count(value);
    known.set(value, before);
    return before;
  };
}

const isText = (value: CelValue | undefined): boolean => typeof value === "string" || value instanceof CelBytes;

/** All values in a value, itself included, and more for long texts. */
function deepSizeOf(value: CelValue | undefined): number {
  if (isText(value)) return 1 + sizeOf(value) * SCAN;
  return isContainer(value) ? deepSizeIn(value) : 1;
}

const isContainer = (value: CelValue | undefined): value is CelList | CelMap | CelOptional =>
  value instanceof CelList || value instanceof CelMap || value instanceof CelOptional;

const deepSizeIn = countedOnce((value) => {
  if (value instanceof CelOptional) return 1 + deepSizeOf(value.value);
  const parts = value instanceof CelList ? value.items : value.keys().map((key) => value.get(key));
  return parts.reduce<number>((sum, part) => sum + deepSizeOf(part), 1);
});

/** How much longer it takes to compare with a value than with a scalar. */
const weightOf = (value: CelValue | undefined): number => Math.max(1, deepSizeOf(value) * TRAVERSAL);

/** The lesser of the two: comparing ends there. */
const comparison = (a: CelValue | undefined, b: CelValue | undefined): number =>
  Math.ceil(Math.min(sizeOf(a), sizeOf(b)) * TRAVERSAL);

const search = (text: CelValue | undefined, pattern: CelValue | undefined): number =>
  Math.ceil((1 + sizeOf(text)) * TRAVERSAL) * Math.ceil(sizeOf(pattern) * PATTERN);

/** Lists are copied here when they are joined, which upstream does not do. */
const copied = (a: CelValue | undefined, b: CelValue | undefined): number =>
  a instanceof CelList ? Math.floor((sizeOf(a) + sizeOf(b)) / 100) : 0;

/** A whole number that is an argument; 0 for what is no number, or below it. */
const countOf = (value: CelValue | undefined): number => (typeof value === "bigint" && value > 0n ? Number(value) : 0);

/** A list is made: each of its items costs. */
const newList = (size: number): number => 11 + size;

/** Each item is compared with each other, as upstream has it: whole texts and values in values cost more. */
const selfComparison = (list: CelValue | undefined): number =>
  list instanceof CelList ? 11 + Math.ceil(2 * list.size * Math.max(list.size, deepSizeOf(list) * TRAVERSAL)) : 1;

const setCost = (a: CelValue | undefined, b: CelValue | undefined, passes = 1): number =>
  Math.ceil(passes * Math.max(1, sizeOf(a) * sizeOf(b)) * weightOf(a));

/** All items that flattening a list so deep visits. */
function flatSize(list: CelValue | undefined, depth: number): number {
  if (!(list instanceof CelList) || depth === 0) return 1;
  let size = 0;
  /** How often each list stands so far below the outermost one. */
  let layer: ReadonlyMap<CelList, number> = new Map([[list, 1]]);
  for (let left = depth; layer.size > 0; left--) {
    const below = new Map<CelList, number>();
    for (const [{ items }, times] of layer) {
      size += times;
      for (const item of items) {
        if (item instanceof CelList && left > 1) below.set(item, (below.get(item) ?? 0) + times);
        else size += times;
      }
    }
    layer = below;
  }
  return size;
}

/** All texts in a value, and some characters for each value that is none. */
function textSizeOf(value: CelValue | undefined): number {
  if (isText(value)) return sizeOf(value);
  return isContainer(value) ? textSizeIn(value) : 5;
}

const textSizeIn = countedOnce((value) => {
  // An optional value has no text.
  if (value instanceof CelOptional) return 5;
  if (value instanceof CelList) return value.items.reduce<number>((sum, item) => sum + textSizeOf(item), 2);
  return value.keys().reduce<number>((sum, key) => sum + textSizeOf(key) + textSizeOf(value.get(key)), 2);
});

/** The text that a list of texts becomes. */
const joinedSize = (list: CelValue | undefined, separator: CelValue | undefined): number =>
  textSizeOf(list) + (list instanceof CelList && typeof separator === "string" ? list.size * separator.length : 0);

/** Growth of a text if each of some parts is replaced by a longer one. */
function growth(text: CelValue | undefined, from: CelValue | undefined, to: CelValue | undefined): number {
  if (typeof text !== "string" || typeof from !== "string" || typeof to !== "string" || to.length <= from.length)
    return 0;
  let count = 0;
  if (from === "") count = text.length + 1;
  else for (let at = text.indexOf(from); at !== -1; at = text.indexOf(from, at + from.length)) count++;
  return count * (to.length - from.length);
}

/** More parts than a text usually has cost as items of a list: all of them are in one piece of memory (ADR 366). */
function partsOf(text: CelValue | undefined, separator: CelValue | undefined): number {
  if (typeof text !== "string" || typeof separator !== "string" || text.length <= FREE_PARTS) return 0;
  let count = separator === "" ? text.length : 1;
  if (separator !== "")
    for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, at + separator.length)) count++;
  return Math.max(0, count - FREE_PARTS);
}
const FREE_PARTS = 100_000;

/** The cost of a question to an authorizer. Upstream has 350,000, of a budget of 10 million: an authorizer may be far away there. Here it is in memory. */
export const COST_OF_CHECK = 1_000;

/** The cost of a fault that another side or item makes up for: its error has a stack. */
export const COST_OF_FAULT = 10;

/** The arguments of the call. */
type Cost = (first: CelValue | undefined, second: CelValue | undefined, third: CelValue | undefined) => number;

/** A key is hashed, however few keys there are. */
const lookup = (key: CelValue | undefined): number => Math.ceil(weightOf(key));

const ordering: Cost = (first, second) => (isText(first) ? comparison(first, second) : 1);
const throughFirst: Cost = (first) => Math.max(1, traversal(first));
const throughSecond: Cost = (_first, second) => traversal(second);
const throughList: Cost = listTraversal;

/**
 * Upstream counts the outermost values alone. Here, comparing lists and maps also costs their content, and counting the characters of a long text
 * costs reading it: other clients wait meanwhile.
 */
const COSTS: readonly (readonly [functions: readonly string[], cost: Cost])[] = [
  [["_==_", "_!=_"], comparison],
  [["_[_]", "_[?_]"], (_first, index) => lookup(index)],
  [["_<_", "_<=_", "_>_", "_>=_"], ordering],
  [["@in"], (first, second) => lookup(first) * (second instanceof CelList ? Math.max(1, second.size) : 1)],
  [
    ["_+_"],
    (first, second) =>
      isText(first) ? Math.ceil((sizeOf(first) + sizeOf(second)) * TRAVERSAL) : 1 + copied(first, second),
  ],
  [["startsWith", "endsWith"], throughSecond],
  [["contains"], (first, second) => traversal(first) * traversal(second)],
  [["matches", "find", "findAll"], search],
  [["size"], (first) => (typeof first === "string" ? Math.max(1, Math.ceil(first.length / 1_000)) : 1)],
  [["isSorted", "sum", "min", "max"], throughList],
  [["indexOf", "lastIndexOf"], (first, second) => Math.ceil(Math.max(1, listTraversal(first)) * weightOf(second))],
  [["url", "isURL", "ip", "cidr", "bytes", "string"], throughFirst],
  // Mostly asked of texts that are none.
  [["isIP", "isCIDR"], (first) => COST_OF_FAULT + traversal(first)],
  [["lowerAscii", "upperAscii", "substring", "trim", "charAt", "strings.quote", "jsonpatch.escapeKey"], throughFirst],
  [["split"], (first, separator) => traversal(first, 2) + partsOf(first, separator)],
  [["ip.isCanonical"], (first) => traversal(first, 2)],
  [["replace"], (first, from, to) => traversal(first, 2) + Math.ceil(growth(first, from, to) * TRAVERSAL * 2)],
  [["join"], (first, second) => Math.ceil(joinedSize(first, second) * TRAVERSAL * 2)],
  [["format"], (first, second) => Math.ceil((sizeOf(first) + textSizeOf(second)) * TRAVERSAL * 2)],
  [["quantity", "isQuantity", "semver", "isSemver", "int", "uint", "double", "duration", "timestamp"], throughFirst],
  [["containsIP", "containsCIDR"], (_first, second) => 1 + traversal(second)],
  // The rules of a zone are read for each call.
  [ZONED_PARTS, (_time, zone) => (zone === undefined ? 1 : 100)],
  [["validate"], (_first, second) => search(second, "x".repeat(60))],
  [["sets.contains", "sets.intersects"], (first, second) => setCost(first, second)],
  [["check"], () => COST_OF_CHECK],
  [["sets.equivalent"], (first, second) => setCost(first, second, 2)],
  [["lists.range"], (size) => newList(countOf(size))],
  [["reverse", "unwrapOpt", "optional.unwrap"], (list) => newList(sizeOf(list))],
  [["slice"], (_list, begin, end) => newList(Math.max(0, countOf(end) - countOf(begin)))],
  [["flatten"], (list, depth) => newList(flatSize(list, depth === undefined ? 1 : countOf(depth)))],
  [["distinct", "sort"], selfComparison],
  [[SORT_BY_KEYS], (_list, keys) => selfComparison(keys)],
];

const COST_OF: ReadonlyMap<string, Cost> = new Map(
  COSTS.flatMap(([functions, cost]) => functions.map((name) => [name, cost] as const)),
);

/**
 * Known before the call, so that what costs too much is not even begun. 1 for a function that looks at no more than its scalars. Patterns cost what
 * they take beside that.
 */
export const costOfCall = (name: string, args: readonly CelValue[]): number =>
  COST_OF.get(name)?.(args[0], args[1], args[2]) ?? 1;

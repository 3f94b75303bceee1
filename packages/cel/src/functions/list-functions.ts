// Functions of lists.
// Source: k8s.io/apiserver/pkg/cel/library/lists.go, github.com/google/cel-go/ext/lists.go (version 3)

import { CelDuration, CelList, CelUint, type CelValue, failCel, listOf, typeNameOf } from "../cel-value.ts";
import { compareCel, equalCel } from "../compare-cel.ts";
import { checkInt, checkUint } from "./operators.ts";
import { type CelOverload, celFunction, celMethod } from "./overload.ts";
import { checkDuration } from "./time-limits.ts";

const ORDERED = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"] as const;

/** The function that the macro `sortBy` calls: no expression can name it. */
export const SORT_BY_KEYS = "@sortByAssociatedKeys";

export const listFunctions: readonly CelOverload[] = [
  ...ORDERED.flatMap((type) => [
    celMethod("isSorted", [`list<${type}>`], "bool", isSorted),
    celMethod("min", [`list<${type}>`], type, (list) => pick("min", list, (order) => order < 0)),
    celMethod("max", [`list<${type}>`], type, (list) => pick("max", list, (order) => order > 0)),
    celMethod("sort", [`list<${type}>`], `list<${type}>`, (list) => sortByKeys(list, list)),
    celMethod(SORT_BY_KEYS, ["list<T>", `list<${type}>`], "list<T>", sortByKeys),
  ]),
  ...(["int", "uint", "double", "duration"] as const).map((type) =>
    celMethod("sum", [`list<${type}>`], type, (list) => sum(list, type)),
  ),
  celMethod("indexOf", ["list<T>", "T"], "int", (list, value) => BigInt(list.items.findIndex(equals(value)))),
  celMethod("lastIndexOf", ["list<T>", "T"], "int", (list, value) => BigInt(list.items.findLastIndex(equals(value)))),
  celFunction("lists.range", ["int"], "list<int>", (size) => listOf(Array.from(countTo(size)))),
  celMethod("reverse", ["list<T>"], "list<T>", ({ items }) => listOf(items.toReversed())),
  celMethod("slice", ["list<T>", "int", "int"], "list<T>", slice),
  celMethod("distinct", ["list<T>"], "list<T>", distinct),
  celMethod("flatten", ["list<list<T>>"], "list<T>", (list) => flatten(list, 1n)),
  celMethod("flatten", ["list<dyn>", "int"], "list<dyn>", flatten),
];

function* countTo(size: bigint): Generator<bigint> {
  for (let number = 0n; number < size; number++) yield number;
}

function slice({ items }: CelList, begin: bigint, end: bigint): CelList {
  const refuse = (why: string): never => failCel(`cannot slice(${begin}, ${end}), ${why}`);
  if (begin < 0n || end < 0n) return refuse("negative indexes not supported");
  if (begin > end) return refuse("start index must be less than or equal to end index");
  if (end > items.length) return refuse(`list is length ${items.length}`);
  return listOf(items.slice(Number(begin), Number(end)));
}

/** The first of those that are equal. */
function distinct({ items }: CelList): CelList {
  const found: CelValue[] = [];
  for (const item of items) if (!found.some(equals(item))) found.push(item);
  return listOf(found);
}

function flatten({ items }: CelList, depth: bigint): CelList {
  if (depth < 0n) return failCel("level must be non-negative");
  const levels = (parts: readonly CelValue[], level: bigint): readonly CelValue[] =>
    parts.flatMap((part) => (part instanceof CelList && level > 0n ? levels(part.items, level - 1n) : [part]));
  return listOf(levels(items, depth));
}

/** Which values `sort` takes, before it compares them. */
const isOrdered = (value: CelValue): boolean => ORDERED_NAMES.has(typeNameOf(value));
const ORDERED_NAMES: ReadonlySet<string> = new Set([
  ...ORDERED,
  "google.protobuf.Duration",
  "google.protobuf.Timestamp",
]);

function sortByKeys(list: CelList, { items: keys }: CelList): CelList {
  const [first] = keys;
  if (first === undefined) return list;
  if (!isOrdered(first)) return failCel("list elements must be comparable");
  const name = typeNameOf(first);
  if (keys.some((key) => typeNameOf(key) !== name)) return failCel("list elements must have the same type");
  // NaN stands where it is: no order is false for it as for upstream's comparison.
  const order = (a: CelValue, b: CelValue): number => (Number.isNaN(a) || Number.isNaN(b) ? 0 : compareCel(a, b));
  return listOf(
    keys
      .map((key, index) => [key, list.items[index] ?? null] as const)
      .toSorted(([a], [b]) => order(a, b))
      .map(([, item]) => item),
  );
}

const equals =
  (value: CelValue) =>
  (item: CelValue): boolean =>
    equalCel(item, value, () => {});

function isSorted({ items }: CelList): boolean {
  return items.every((item, index) => index === 0 || compareCel(items[index - 1] ?? null, item) <= 0);
}

function pick(name: string, { items }: CelList, isBetter: (order: number) => boolean): CelValue {
  const [first] = items;
  if (first === undefined) return failCel(`${name} called on empty list`);
  return items.reduce((best, item) => (isBetter(compareCel(item, best)) ? item : best), first);
}

/** The type is that of an empty list: where it is `dyn`, 0. */
function sum({ items }: CelList, type: "int" | "uint" | "double" | "duration"): CelValue {
  const [first] = items;
  if (first === undefined) return { int: 0n, uint: new CelUint(0n), double: 0, duration: new CelDuration(0n) }[type];
  return items.slice(1).reduce(add, first);
}

function add(a: CelValue, b: CelValue): CelValue {
  if (typeof a === "bigint" && typeof b === "bigint") return checkInt(a + b);
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (a instanceof CelUint && b instanceof CelUint) return checkUint(a.value + b.value);
  if (a instanceof CelDuration && b instanceof CelDuration) return checkDuration(a.nanoseconds + b.nanoseconds);
  return failCel("no such overload");
}

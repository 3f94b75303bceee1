// The operators, declared as the functions that cel-go has for them.
// Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md#list-of-standard-definitions

import {
  CelBytes,
  CelList,
  type CelMap,
  CelOptional,
  type CelTimestamp,
  CelUint,
  type CelValue,
  failCel,
  isCelNumber,
  listOf,
  NO_VALUE,
  plainNumber,
} from "../cel-value.ts";
import { compareCel, equalCel, identityText } from "../compare-cel.ts";
import { type CelOverload, celFunction } from "./overload.ts";
import { checkDuration, checkTimestamp } from "./time-limits.ts";

const [MIN_INT, MAX_INT, MAX_UINT] = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 64n - 1n];

export const checkInt = (value: bigint): bigint =>
  value < MIN_INT || value > MAX_INT ? failCel("integer overflow") : value;

export const checkUint = (value: bigint): CelUint =>
  value < 0n || value > MAX_UINT ? failCel("unsigned integer overflow") : new CelUint(value);

const ignore = (): void => {};

/** The evaluator charges for comparisons, by the size of the operands. */
const same = (a: CelValue, b: CelValue): boolean => equalCel(a, b, ignore);

type Calculation = {
  readonly whole: (a: bigint, b: bigint) => bigint;
  readonly fraction: (a: number, b: number) => number;
};

const numeric = (name: string, { whole, fraction }: Calculation): readonly CelOverload[] => [
  celFunction(name, ["int", "int"], "int", (a, b) => checkInt(whole(a, b))),
  celFunction(name, ["uint", "uint"], "uint", (a, b) => checkUint(whole(a.value, b.value))),
  celFunction(name, ["double", "double"], "double", (a, b) => fraction(a, b)),
];

const noZero = (b: bigint, why: string): bigint => (b === 0n ? failCel(why) : b);

const ORDERED = ["bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"] as const;
const NUMERIC = ["int", "uint", "double"] as const;

const comparison = (name: string, holds: (order: number) => boolean): readonly CelOverload[] =>
  [
    ...ORDERED.map((type) => [type, type] as const),
    ...NUMERIC.flatMap((a) => NUMERIC.filter((b) => a !== b).map((b) => [a, b] as const)),
  ].map(([a, b]) => celFunction(name, [a, b], "bool", (x, y) => holds(compareCel(x, y))));

export const operators: readonly CelOverload[] = [
  celFunction("_==_", ["T", "T"], "bool", same),
  celFunction("_!=_", ["T", "T"], "bool", (a, b) => !same(a, b)),
  ...comparison("_<_", (order) => order < 0),
  ...comparison("_<=_", (order) => order <= 0),
  ...comparison("_>_", (order) => order > 0),
  ...comparison("_>=_", (order) => order >= 0),
  celFunction("!_", ["bool"], "bool", (value) => !value),
  celFunction("-_", ["int"], "int", (value) => checkInt(-value)),
  celFunction("-_", ["double"], "double", (value) => -value),
  ...numeric("_+_", { whole: (a, b) => a + b, fraction: (a, b) => a + b }),
  celFunction("_+_", ["string", "string"], "string", (a, b) => a + b),
  celFunction("_+_", ["bytes", "bytes"], "bytes", (a, b) => new CelBytes(Buffer.concat([a.bytes, b.bytes]))),
  celFunction("_+_", ["list<T>", "list<T>"], "list<T>", joinLists),
  celFunction("_+_", ["timestamp", "duration"], "timestamp", (a, b) => later(a, b.nanoseconds)),
  celFunction("_+_", ["duration", "timestamp"], "timestamp", (a, b) => later(b, a.nanoseconds)),
  celFunction("_+_", ["duration", "duration"], "duration", (a, b) => checkDuration(a.nanoseconds + b.nanoseconds)),
  ...numeric("_-_", { whole: (a, b) => a - b, fraction: (a, b) => a - b }),
  celFunction("_-_", ["timestamp", "timestamp"], "duration", (a, b) => checkDuration(a.nanoseconds - b.nanoseconds)),
  celFunction("_-_", ["timestamp", "duration"], "timestamp", (a, b) => later(a, -b.nanoseconds)),
  celFunction("_-_", ["duration", "duration"], "duration", (a, b) => checkDuration(a.nanoseconds - b.nanoseconds)),
  ...numeric("_*_", { whole: (a, b) => a * b, fraction: (a, b) => a * b }),
  ...numeric("_/_", { whole: (a, b) => a / noZero(b, "division by zero"), fraction: (a, b) => a / b }),
  celFunction("_%_", ["int", "int"], "int", (a, b) => a % noZero(b, "modulus by zero")),
  celFunction("_%_", ["uint", "uint"], "uint", (a, b) => new CelUint(a.value % noZero(b.value, "modulus by zero"))),
  celFunction("@in", ["T", "list<T>"], "bool", (value, list) => list.items.some((item) => same(item, value))),
  celFunction("@in", ["K", "map<K, V>"], "bool", (key, map) => map.get(key) !== undefined),
  celFunction("_[_]", ["list<T>", "int"], "T", itemAt),
  celFunction("_[_]", ["map<K, V>", "K"], "V", memberAt),
  celFunction("_[?_]", ["list<T>", "int"], "optional<T>", (list, index) => optionalOf(findItem(list, index))),
  celFunction("_[?_]", ["map<K, V>", "K"], "optional<V>", (map, key) => optionalOf(map.get(key))),
  celFunction("_[?_]", ["optional<list<T>>", "int"], "optional<T>", (list, index) =>
    list.value instanceof CelList ? optionalOf(findItem(list.value, index)) : NO_VALUE,
  ),
  celFunction("_[?_]", ["optional<map<K, V>>", "K"], "optional<V>", ({ value }, key) =>
    isMap(value) ? optionalOf(value.get(key)) : NO_VALUE,
  ),
];

const isMap = (value: CelValue | undefined): value is CelMap =>
  typeof value === "object" && value !== null && "keys" in value;

const optionalOf = (value: CelValue | undefined): CelOptional =>
  value === undefined ? NO_VALUE : new CelOptional(value);

const later = ({ nanoseconds, offsetMinutes }: CelTimestamp, by: bigint): CelTimestamp =>
  checkTimestamp(nanoseconds + by, offsetMinutes);

/** Sets and lists with keys keep their form: existing items of the left operand are replaced or left out. */
function joinLists(a: CelList, b: CelList): CelList {
  const textOf = identityText(a);
  if (textOf === undefined) return listOf([...a.items, ...b.items]);
  const items = new Map(a.items.map((item) => [textOf(item), item]));
  for (const item of b.items) {
    const text = textOf(item);
    if (a.identity !== "set" || !items.has(text)) items.set(text, item);
  }
  return listOf([...items.values()], a.identity);
}

const findItem = ({ items }: CelList, index: bigint): CelValue | undefined => items[Number(index)];

function itemAt(list: CelList, index: bigint): CelValue {
  return findItem(list, index) ?? (hasItem(list, index) ? null : failCel(`index out of bounds: ${index}`));
}

/** An item may be null. */
const hasItem = ({ items }: CelList, index: bigint): boolean => index >= 0n && index < items.length;

function memberAt(map: CelMap, key: CelValue): CelValue {
  const value = map.get(key);
  return value === undefined ? failCel(`no such key: ${textOfKey(key)}`) : value;
}

export const textOfKey = (key: CelValue): string =>
  isCelNumber(key) ? String(plainNumber(key)) : typeof key === "string" ? key : String(key);

// Which values are equal, and which comes first.
// Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md#equality, k8s.io/apiserver/pkg/cel/common/values.go

import {
  CelBytes,
  CelDuration,
  CelExtension,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  type CelValue,
  failCel,
  isCelNumber,
  keyTextOf,
  plainNumber,
  typeNameOf,
} from "./cel-value.ts";

/** Called for every pair of compared values, with 1 or more for long ones, so that the expression pays for them. */
export type Visit = (weight: number) => void;

/** Texts of one length are compared to their ends; this many characters take as long as a pair of scalars. */
const TEXT_WEIGHT = 1 / 100;

/** Values of two types are not equal, but for numbers of the same value. */
export function equalCel(a: CelValue, b: CelValue, visit: Visit): boolean {
  visit(typeof a === "string" && typeof b === "string" && a.length === b.length ? 1 + a.length * TEXT_WEIGHT : 1);
  if (isCelNumber(a)) {
    // biome-ignore lint/suspicious/noDoubleEquals: 1, 1u and 1.0 are equal, and are held as bigint and number
    return isCelNumber(b) && plainNumber(a) == plainNumber(b);
  }
  if (a === null || typeof a !== "object") return a === b;
  if (a instanceof CelList) return b instanceof CelList && equalLists(a, b, visit);
  if (a instanceof CelMap) return b instanceof CelMap && equalMaps(a, b, visit);
  if (a instanceof CelTimestamp) return b instanceof CelTimestamp && a.nanoseconds === b.nanoseconds;
  if (a instanceof CelDuration) return b instanceof CelDuration && a.nanoseconds === b.nanoseconds;
  if (a instanceof CelBytes) return b instanceof CelBytes && Buffer.compare(a.bytes, b.bytes) === 0;
  if (a instanceof CelTypeValue) return b instanceof CelTypeValue && a.typeName === b.typeName;
  if (a instanceof CelOptional) {
    if (!(b instanceof CelOptional)) return false;
    if (a.value === undefined || b.value === undefined) return a.value === b.value;
    return equalCel(a.value, b.value, visit);
  }
  return b instanceof CelExtension && a.typeName === b.typeName && a.equals(b, visit);
}

/** Where the left list is a set, or known by keys, the order does not matter. */
function equalLists(a: CelList, b: CelList, visit: Visit): boolean {
  if (a.size !== b.size) return false;
  const textOf = identityText(a);
  if (textOf === undefined) return a.items.every((item, index) => equalCel(item, b.items[index] ?? null, visit));
  const known = new Map(a.items.map((item) => [textOf(item), item]));
  return b.items.every((item) => {
    const other = known.get(textOf(item));
    return other !== undefined && equalCel(other, item, visit);
  });
}

/** A text for each item, equal where items are the same one; undefined for lists whose items are distinguished by place. */
export function identityText({ identity }: CelList): ((item: CelValue) => string) | undefined {
  if (identity === undefined) return undefined;
  if (identity === "set") return scalarText;
  const { keys } = identity;
  return (item) =>
    item instanceof CelMap
      ? JSON.stringify(keys.map((key) => scalarText(item.get(key) ?? null)))
      : failCel(`unexpected data format for element of array with x-kubernetes-list-type=map: ${typeNameOf(item)}`);
}

function scalarText(value: CelValue): string {
  if (value === null) return "null";
  if (value instanceof CelTimestamp || value instanceof CelDuration) return `t${value.nanoseconds}`;
  if (value instanceof CelBytes) return `y${Buffer.from(value.bytes).toString("base64")}`;
  return keyTextOf(value);
}

function equalMaps(a: CelMap, b: CelMap, visit: Visit): boolean {
  if (a.size !== b.size) return false;
  return a.keys().every((key) => {
    const [left, right] = [a.get(key), b.get(key)];
    return left !== undefined && right !== undefined && equalCel(left, right, visit);
  });
}

/** Below, at or above 0. Throws CelEvaluationError for values that have no order. */
export function compareCel(a: CelValue, b: CelValue): number {
  if (isCelNumber(a) && isCelNumber(b)) return order(plainNumber(a), plainNumber(b));
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (a instanceof CelTimestamp && b instanceof CelTimestamp) return order(a.nanoseconds, b.nanoseconds);
  if (a instanceof CelDuration && b instanceof CelDuration) return order(a.nanoseconds, b.nanoseconds);
  if (a instanceof CelBytes && b instanceof CelBytes) return Buffer.compare(a.bytes, b.bytes);
  return failCel("no such overload");
}

function order(a: bigint | number, b: bigint | number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return failCel("NaN values cannot be ordered");
  return a < b ? -1 : Number(a > b);
}

/** By code points, as Go compares bytes: JavaScript compares UTF-16 units, which differ behind U+FFFF. */
function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  let at = 0;
  while (a[at] === b[at]) at++;
  const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)];
  if (Number.isNaN(x)) return -1;
  if (Number.isNaN(y)) return 1;
  const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
  if (isSurrogate(x) === isSurrogate(y)) return x - y;
  return isSurrogate(x) ? 1 : -1;
}

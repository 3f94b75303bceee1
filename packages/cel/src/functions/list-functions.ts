// Functions of lists.
// Source: k8s.io/apiserver/pkg/cel/library/lists.go

import { CelDuration, type CelList, CelUint, type CelValue, failCel } from "../cel-value.ts";
import { compareCel, equalCel } from "../compare-cel.ts";
import { checkInt, checkUint } from "./operators.ts";
import { type CelOverload, celMethod } from "./overload.ts";
import { checkDuration } from "./time-limits.ts";

const ORDERED = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"] as const;

export const listFunctions: readonly CelOverload[] = [
  ...ORDERED.flatMap((type) => [
    celMethod("isSorted", [`list<${type}>`], "bool", isSorted),
    celMethod("min", [`list<${type}>`], type, (list) => pick("min", list, (order) => order < 0)),
    celMethod("max", [`list<${type}>`], type, (list) => pick("max", list, (order) => order > 0)),
  ]),
  ...(["int", "uint", "double", "duration"] as const).map((type) =>
    celMethod("sum", [`list<${type}>`], type, (list) => sum(list, type)),
  ),
  celMethod("indexOf", ["list<T>", "T"], "int", (list, value) => BigInt(list.items.findIndex(equals(value)))),
  celMethod("lastIndexOf", ["list<T>", "T"], "int", (list, value) => BigInt(list.items.findLastIndex(equals(value)))),
];

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

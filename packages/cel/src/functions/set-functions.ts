// Functions that take lists as sets.
// Source: github.com/google/cel-go/ext/sets.go

import type { CelList, CelValue } from "../cel-value.ts";
import { equalCel } from "../compare-cel.ts";
import { type CelOverload, celFunction } from "./overload.ts";

export const setFunctions: readonly CelOverload[] = [
  celFunction("sets.contains", ["list<T>", "list<T>"], "bool", contains),
  celFunction("sets.equivalent", ["list<T>", "list<T>"], "bool", (a, b) => contains(a, b) && contains(b, a)),
  celFunction("sets.intersects", ["list<T>", "list<T>"], "bool", (a, b) => a.items.some((item) => has(b, item))),
];

const has = ({ items }: CelList, value: CelValue): boolean => items.some((item) => equalCel(item, value, () => {}));

function contains(a: CelList, b: CelList): boolean {
  return b.items.every((item) => has(a, item));
}

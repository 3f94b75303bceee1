// Values that may be missing.
// Source: github.com/google/cel-go/cel/library.go (OptionalTypes)

import {
  CelBytes,
  CelDuration,
  CelList,
  CelMap,
  CelOptional,
  CelUint,
  type CelValue,
  failCel,
  listOf,
  NO_VALUE,
} from "../cel-value.ts";
import { type CelOverload, celFunction, celMethod } from "./overload.ts";

/** `or` and `orValue` are evaluated only as far as they are needed: see evaluate-cel.ts. */
export const optionalFunctions: readonly CelOverload[] = [
  celFunction("optional.of", ["T"], "optional<T>", (value) => new CelOptional(value)),
  celFunction("optional.ofNonZeroValue", ["T"], "optional<T>", (value) =>
    isZero(value) ? NO_VALUE : new CelOptional(value),
  ),
  celFunction("optional.none", [], "optional<T>", () => NO_VALUE),
  celMethod("hasValue", ["optional<T>"], "bool", ({ value }) => value !== undefined),
  celMethod("value", ["optional<T>"], "T", ({ value }) =>
    value === undefined ? failCel("optional.none() dereference") : value,
  ),
  celMethod("or", ["optional<T>", "optional<T>"], "optional<T>", (first, second) =>
    first.value === undefined ? second : first,
  ),
  celMethod("first", ["list<T>"], "optional<T>", ({ items }) => optionalItem(items[0])),
  celMethod("last", ["list<T>"], "optional<T>", ({ items }) => optionalItem(items.at(-1))),
  celFunction("optional.unwrap", ["list<optional<T>>"], "list<T>", unwrap),
  celMethod("unwrapOpt", ["list<optional<T>>"], "list<T>", unwrap),
  celMethod("orValue", ["optional<T>", "T"], "T", ({ value }, otherwise) => (value === undefined ? otherwise : value)),
];

const optionalItem = (item: CelValue | undefined): CelOptional =>
  item === undefined ? NO_VALUE : new CelOptional(item);

/** The values that are there. */
function unwrap({ items }: CelList): CelList {
  const found = items.map((item) => (item instanceof CelOptional ? item.value : failCel("no such overload")));
  return listOf(found.filter((value) => value !== undefined));
}

function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === 0n || value === 0 || value === "") return true;
  if (value instanceof CelUint) return value.value === 0n;
  if (value instanceof CelBytes) return value.bytes.length === 0;
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0;
  if (value instanceof CelDuration) return value.nanoseconds === 0n;
  return value instanceof CelOptional && value.value === undefined;
}

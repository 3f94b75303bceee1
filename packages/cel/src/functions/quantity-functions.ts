// Functions of quantities.
// Source: k8s.io/apiserver/pkg/cel/library/quantity.go

import { type CelValue, failCel } from "../cel-value.ts";
import { type CelOverload, celFunction, celMethod } from "./overload.ts";
import { asQuantity, parseQuantity, readQuantity, wholeQuantity } from "./quantity.ts";

const compare = (a: CelValue, b: CelValue): number => {
  const [x, y] = [asQuantity(a).nanos, asQuantity(b).nanos];
  return x < y ? -1 : Number(x > y);
};

const sign = (value: CelValue): bigint => BigInt(compare(value, wholeQuantity(0n)));

export const quantityFunctions: readonly CelOverload[] = [
  celFunction("isQuantity", ["string"], "bool", (text) => parseQuantity(text) !== undefined),
  celFunction("quantity", ["string"], "quantity", readQuantity),
  celFunction("sign", ["quantity"], "int", sign),
  celMethod("sign", ["quantity"], "int", sign),
  celMethod("isInteger", ["quantity"], "bool", (value) => asQuantity(value).integer !== undefined),
  celMethod("asInteger", ["quantity"], "int", (value) => {
    const { integer } = asQuantity(value);
    return integer === undefined ? failCel("cannot convert value to integer") : integer;
  }),
  celMethod("asApproximateFloat", ["quantity"], "double", (value) => Number(asQuantity(value).nanos) / 1e9),
  celMethod("add", ["quantity", "quantity"], "quantity", (a, b) => asQuantity(a).add(asQuantity(b))),
  celMethod("add", ["quantity", "int"], "quantity", (a, b) => asQuantity(a).add(wholeQuantity(b))),
  celMethod("sub", ["quantity", "quantity"], "quantity", (a, b) => asQuantity(a).add(asQuantity(b).negated())),
  celMethod("sub", ["quantity", "int"], "quantity", (a, b) => asQuantity(a).add(wholeQuantity(-b))),
  celMethod("isGreaterThan", ["quantity", "quantity"], "bool", (a, b) => compare(a, b) > 0),
  celMethod("isLessThan", ["quantity", "quantity"], "bool", (a, b) => compare(a, b) < 0),
  celMethod("compareTo", ["quantity", "quantity"], "int", (a, b) => BigInt(compare(a, b))),
];

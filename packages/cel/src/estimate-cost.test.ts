// Costs as kube-apiserver estimates them: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/compilation_test.go (TestCostEstimation).

import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { describe, expect, it } from "vitest";
import { checkCel } from "./check-cel.ts";
import { estimateCost } from "./estimate-cost.ts";
import { CEL_NAMES } from "./functions/cel-library.ts";
import { parseCel } from "./parse-cel.ts";
import { sizeLimitsOf } from "./schema-size.ts";
import { celTypeOfSchema } from "./schema-type.ts";

type Max = number | undefined;
type Shape = (max: Max) => StructuralSchema;

const value = (name: string): StructuralSchema => {
  if (name === "int-or-string") return { "x-kubernetes-int-or-string": true };
  if (["duration", "date", "date-time"].includes(name)) return { type: "string", format: name };
  return { type: name as "string" };
};
const bound = (member: string, max: Max): object => (max === undefined ? {} : { [member]: max });
const text: Shape = (max) => ({ type: "string", ...bound("maxLength", max) });
const bytes: Shape = (max) => ({ type: "string", format: "byte", ...bound("maxLength", max) });
const listOf =
  (items: StructuralSchema): Shape =>
  (max) => ({ type: "array", items, ...bound("maxItems", max) });
const mapOf =
  (values: StructuralSchema): Shape =>
  (max) => ({ type: "object", additionalProperties: values, ...bound("maxProperties", max) });
const withText: StructuralSchema = {
  type: "object",
  required: ["required"],
  properties: { required: { type: "string" }, optional: { type: "string" } },
};
const texts: Shape = (max) => listOf(text(max))(max);
const textMap: Shape = (max) => mapOf(text(max))(max);
const nested: Shape = (max) => listOf(mapOf(withText)(max))(max);
const nestedInUnbounded: Shape = (max) => listOf(mapOf(withText)(max))(undefined);
const replacing: Shape = (max) => ({
  type: "object",
  properties: { str: text(max), before: text(2), after: text(4) },
});
const splitting: Shape = (max) => ({ type: "object", properties: { str: text(max), separator: text(max) } });

const costOf = (rule: string, schema: StructuralSchema): number => {
  const type = celTypeOfSchema(schema);
  const limits = sizeLimitsOf(schema, false);
  if (type === undefined || limits === undefined) throw new Error("no such schema");
  const expression = parseCel(rule, CEL_NAMES);
  const checked = checkCel(expression, { self: type, oldSelf: type });
  expect(checked.faults).toEqual([]);
  return estimateCost(expression, checked, limits);
};

describe("an estimate", () => {
  it.each<[rule: string, shape: Shape, unbounded: number, max: number, bounded: number]>([
    ["self.all(x, true)", listOf(value("number")), 4718591, 10, 32],
    ["self.all(x, true)", listOf(value("string")), 3145727, 20, 62],
    ["self.all(x, true)", listOf(value("boolean")), 1887437, 5, 17],
    ["self.all(x, true)", listOf(listOf(value("number"))(undefined)), 3145727, 100, 302],
    ["self.all(x, true)", mapOf(value("number")), 1348169, 10, 32],
    ["self.all(x, true)", mapOf(value("string")), 1179647, 3, 11],
    ["self.all(x, true)", mapOf(value("boolean")), 943718, 100, 302],
    ["self.contains('test')", text, 314574, 10, 5],
    ["self.startsWith('test')", text, 2, 15, 2],
    ["self.endsWith('test')", text, 2, 30, 2],
    ['size(self + "hello") > size("hello")', text, 314578, 4, 7],
    ["self[1] == 0.0", listOf(value("number")), 2, 5000, 2],
    ["self[1] == self[1]", listOf(value("string")), 314577, 8, 314577],
    ['self.matches("x")', text, 314574, 50, 22],
    ['"".matches("(((((((((())))))))))[0-9]")', text, 7, 10, 7],
    ['self.matches("")', text, 1, 100, 1],
    ["self.all(x, x.contains(self[x]))", textMap, 2752507, 10, 72],
    ['self["x"] == 0.0', mapOf(value("number")), 2, 0, 2],
    ['self == "x"', text, 2, 0, 1],
    ['self == b"x"', bytes, 2, 0, 1],
    ["self.all(x, x == 0.0)", listOf(value("number")), 6291454, 3 * 1024 * 2048, 25165826],
    ['self.all(x, x["y"].required == "z")', nested, 7340027, 10, 72],
    ['self.all(x, x["y"].required == "z")', nestedInUnbounded, 7340027, 10, 7340027],
    ["self.all(x, true)", listOf(value("int-or-string")), 4718591, 10, 32],
    ["self[0] == 5", listOf(value("int-or-string")), 3, 10, 3],
    ["self[0] == false", listOf(value("boolean")), 2, 25, 2],
    ["self[0] == null", listOf(withText), 2, 422, 2],
    ["self[0][0] == -1.0", listOf(listOf(value("number"))(undefined)), 3, 51, 3],
    ["self.all(x, x.y == 25.2)", listOf(mapOf(value("number"))(undefined)), 6291452, 12, 74],
    ["self[0].x > 2.0", listOf(mapOf(value("number"))(undefined)), 4, 3000, 4],
    ["self.all(x, true)", listOf(value("duration")), 2359295, 5, 17],
    ["self[0].getHours() == 2", listOf(value("duration")), 4, 525, 4],
    ["self.all(x, true)", listOf(value("date")), 725936, 15, 47],
    ["self[2].getDayOfMonth() == 13", listOf(value("date")), 4, 42, 4],
    ["self.all(x, true)", listOf(value("date-time")), 428963, 25, 77],
    ["self[2].getMinutes() == 45", listOf(value("date-time")), 4, 99, 4],
    ["self.all(x, true)", mapOf(value("int-or-string")), 1348169, 15, 47],
    ["self.all(x, true)", mapOf(withText), 428963, 20, 62],
    ["self.all(x, true)", mapOf(mapOf(value("number"))(undefined)), 1179647, 10, 32],
    ["self.all(x, true)", mapOf(listOf(value("number"))(undefined)), 1179647, 25, 77],
    ["self.all(x, true)", mapOf(value("duration")), 1048577, 5, 17],
    ["self.all(x, true)", mapOf(value("date")), 524288, 10, 32],
    ["self.all(x, true)", mapOf(value("date-time")), 349526, 25, 77],
    ["self.find('[0-9]+') == ''", text, 629147, 10, 11],
    ["self.join(' ') == 'aa bb'", texts, 329853068905, 10, 43],
    ["self.isSorted() == true", texts, 329854432052, 10, 52],
    ["self.str.replace(self.before, self.after) == 'does not matter'", replacing, 629154, 4, 12],
    ["self.str.split(self.separator) == []", splitting, 629160, 10, 22],
    ["self.lowerAscii() == 'lower!'", text, 314575, 10, 6],
    ["oldSelf.size() == self.size()", mapOf(value("integer")), 5, 10, 5],
    ['self["a"] == self["b"]', mapOf(value("date-time")), 8, 7, 8],
    ['self["c"] == self["d"]', mapOf(value("duration")), 8, 42, 8],
  ])("of %s", (rule, shape, unbounded, max, bounded) => {
    expect([costOf(rule, shape(undefined)), costOf(rule, shape(max))]).toEqual([unbounded, bounded]);
  });

  it("of a text with an enum depends on its longest value", () => {
    expect(costOf("self.contains('A')", { type: "string", enum: ["A", "B", "LongValue"] })).toBe(2);
  });

  it("of loops in loops grows with each", () => {
    const numbers = listOf(value("number"));
    expect(costOf("self.all(x, self.all(y, true))", numbers(10))).toBe(352);
    expect(costOf("self.all(x, self.all(y, self.all(z, true)))", numbers(10))).toBe(3552);
    expect(costOf("self.all(x, self.all(y, true))", numbers(undefined))).toBeGreaterThan(1e12);
  });
});

// Values of expressions that make patches, as JSON.

import { CelLimitError, createCelMeter } from "@postern/cel/cel-budget";
import { evaluateCel } from "@postern/cel/evaluate-cel";
import { CEL_NAMES } from "@postern/cel/functions/cel-library";
import { parseCel } from "@postern/cel/parse-cel";
import { expect, test } from "vitest";
import { dynamicValue } from "./dynamic-value.ts";
import { jsonOfValue } from "./value-json.ts";

function jsonOf(text: string) {
  const meter = createCelMeter(10_000);
  const names = { object: dynamicValue({ data: { k: "1" } }) };
  return jsonOfValue(evaluateCel(parseCel(text, CEL_NAMES), { names, meter }), meter.spend);
}

test.each([
  ["Object{data: {'k': object.data.k + 'a'}, spec: Object.spec{n: 1}}", { data: { k: "1a" }, spec: { n: 1 } }],
  ["[JSONPatch{op: 'add', path: '/x', value: Object.y{z: [1, 2]}}]", [{ op: "add", path: "/x", value: { z: [1, 2] } }]],
  ["Object{?spec: optional.none(), data: {}}", { data: {} }],
])("%s", (text, made) => {
  expect(jsonOf(text)).toEqual(made);
});

test("a list that stands in very many places costs as much as it would be written out", () => {
  const lists = `[[1]]${".map(a, [a, a])".repeat(40)}`;
  for (const text of [lists, `Object{data: {'k': ${lists}}}`, `[JSONPatch{op: 'add', path: '/x', value: ${lists}}]`])
    expect(() => jsonOf(text)).toThrow(CelLimitError);
});

test("an object of another type than its field is a fault of the expression", () => {
  expect(() => jsonOf("Object{spec: Object.other{}}")).toThrow(
    'unexpected type name "Object.other", expected "Object.spec"',
  );
});

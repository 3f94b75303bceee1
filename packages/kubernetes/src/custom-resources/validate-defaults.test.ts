import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { runSteps } from "@postern/apimachinery/steps/steps";
import { expect, it } from "vitest";
import { validateDefaults } from "./validate-defaults.ts";

const faultsOf = (field: StructuralSchema) =>
  runSteps(validateDefaults({ type: "object", properties: { a: field } }, "s")).map(
    ({ field: path, message }) => `${path}: ${message}`,
  );

it.each<[what: string, schema: StructuralSchema, fault: string]>([
  [
    "of another type",
    { type: "integer", default: "x" },
    's.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"',
  ],
  [
    "with a field that is not declared",
    { type: "object", properties: { b: { type: "string" } }, default: { c: 1 } },
    's.properties[a].default: Invalid value: {"c":1}: must not have unknown fields',
  ],
  [
    "with a field of another type",
    { type: "object", properties: { b: { type: "string" } }, default: { b: 1 } },
    's.properties[a].default.b: Invalid value: "integer": b in body must be of type string: "integer"',
  ],
  [
    "below the items of a list",
    { type: "array", items: { type: "object", properties: { b: { type: "boolean", default: 0 } } } },
    's.properties[a].items.properties[b].default: Invalid value: "integer":  in body must be of type boolean: "integer"',
  ],
  [
    "that breaks a rule",
    { type: "integer", default: 1, "x-kubernetes-validations": [{ rule: "self > 1", message: "too few" }] },
    's.properties[a].default: Invalid value: "integer": too few',
  ],
  [
    "that is no resource",
    {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
      default: { kind: "Pod" },
    },
    "s.properties[a].default.apiVersion: Required value",
  ],
])("refuses a default %s", (_what, schema, fault) => {
  expect(faultsOf(schema)).toEqual([fault]);
});

it.each<StructuralSchema>([
  { type: "integer", default: 1, minimum: 1 },
  { "x-kubernetes-int-or-string": true, default: "x" },
  { type: "object", "x-kubernetes-preserve-unknown-fields": true, default: { any: 1 } },
  { type: "string", nullable: true, default: null },
  {
    type: "object",
    "x-kubernetes-embedded-resource": true,
    properties: { metadata: { type: "object", default: { labels: { a: "b" } } } },
  },
])("takes %j", (schema) => {
  expect(faultsOf(schema)).toEqual([]);
});

it("asks rules that cost much about no default, and about no more than a hundred defaults", () => {
  const costly = "!self.all(a, self.all(b, self.all(c, a + b + c >= 0)))";
  const many = Array.from({ length: 60 }, () => 0);
  const list: StructuralSchema = {
    type: "array",
    maxItems: 60,
    items: { type: "integer" },
    "x-kubernetes-validations": [{ rule: costly }],
    default: many,
  };
  expect(faultsOf(list)).toEqual([]);
  const properties = Object.fromEntries(
    Array.from({ length: 150 }, (_, index) => [
      `p${index}`,
      { type: "integer", default: 0, "x-kubernetes-validations": [{ rule: "self > 0" }] } as const,
    ]),
  );
  expect(faultsOf({ type: "object", properties })).toHaveLength(100);
});

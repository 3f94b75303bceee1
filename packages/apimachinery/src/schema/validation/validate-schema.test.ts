// Expected answers: k8s.io/apiextensions-apiserver v0.32.1 pkg/apiserver/validation, in testdata/13a-schema-validation.json.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../json/json-value.ts";
import type { FieldError } from "../../validation/field-error.ts";
import { applyDefaults } from "../default.ts";
import { validateListTypes } from "../list-type.ts";
import { pruneUnknownFields } from "../prune.ts";
import type { StructuralSchema } from "../structural-schema.ts";
import vectors from "../testdata/13a-schema-validation.json" with { type: "json" };
import {
  createSchemaValidator,
  SchemaValidationTooLongError,
  schemaValidatorOf,
  validateAgainstSchema,
} from "./validate-schema.ts";

const sorted = (errors: readonly FieldError[]) =>
  errors
    .map(({ type, field, message }) => ({ type, field, message }))
    .sort((a, b) => (a.field + a.message < b.field + b.message ? -1 : 1));

const field = (schema: StructuralSchema): StructuralSchema => ({ type: "object", properties: { a: schema } });

describe("validation against a schema", () => {
  it.each(vectors.cases as any[])("$id is judged as upstream does", ({ schema, value, errors }) => {
    expect(sorted(validateAgainstSchema(value, schema))).toEqual(sorted(errors));
  });

  it.each<[string, StructuralSchema, JsonValue, string]>([
    ["too few items", { type: "array", minItems: 1 }, [], "Invalid value: 0: a in body should have at least 1 items"],
    [
      "too few properties",
      { type: "object", minProperties: 1 },
      {},
      "Invalid value: 0: a in body should have at least 1 properties",
    ],
    [
      "too many properties",
      { type: "object", maxProperties: 1 },
      { x: 1, y: 2 },
      "Too many: 2: must have at most 1 items",
    ],
    ["too short", { type: "string", minLength: 1 }, "", 'Invalid value: "": a in body should be at least 1 chars long'],
    [
      "a forbidden member",
      { type: "object", additionalProperties: false },
      { x: 1 },
      'Invalid value: "x": a.x in body is a forbidden property',
    ],
    [
      "twice the same item",
      { type: "array", uniqueItems: true },
      [1, 1],
      'Invalid value: "": a in body shouldn\'t contain duplicates',
    ],
    [
      "a fraction for an integer",
      { type: "integer" },
      1.5,
      'Invalid value: "number": a in body must be of type integer: "number"',
    ],
    [
      "a boolean for an int64",
      { type: "integer", format: "int64" },
      true,
      'Invalid value: "": a in body must be of type int64: ""',
    ],
    [
      "an integer for a time",
      { type: "string", format: "date-time" },
      1,
      'Invalid value: "int64": a in body must be of type date-time: "int64"',
    ],
    [
      "a list for a time",
      { type: "string", format: "date-time" },
      [],
      'Invalid value: "array": a in body must be of type string: "array"',
    ],
    [
      "an int32 out of range",
      { type: "integer", format: "int32" },
      2 ** 31,
      'Invalid value: "": Checked value must be of type integer with format int32 in a',
    ],
    [
      "a number out of int64",
      { type: "integer" },
      2n ** 63n,
      'Invalid value: "number": a in body must be of type integer: "number"',
    ],
    [
      "a float above the maximum",
      { type: "number", maximum: 1_000_000 },
      1_000_000.5,
      "Invalid value: 1.0000005e+06: a in body should be less than or equal to 1e+06",
    ],
    [
      "the bound of an open range",
      { type: "integer", minimum: 1, exclusiveMinimum: true },
      1,
      "Invalid value: 1: a in body should be greater than 1",
    ],
    ["what is ruled out", { not: { enum: ["x"] } }, "x", 'Invalid value: "": "a" must not validate the schema (not)'],
    [
      "null outside a nullable enum",
      { type: "string", nullable: true, enum: ["x"] },
      null,
      'Unsupported value: null: supported values: "x"',
    ],
    ["a number outside the enum", { enum: [1, true] }, 2, 'Unsupported value: 2: supported values: "1", "true"'],
  ])("refuses %s", (_, schema, value, message) => {
    expect(validateAgainstSchema({ a: value }, field(schema)).map((error) => error.message)).toEqual([message]);
  });

  it.each<[string, StructuralSchema, JsonValue]>([
    ["1.0 as an integer", { type: "integer" }, 1.0],
    ["the largest int64", { type: "integer", format: "int64" }, 2n ** 63n - 1n],
    ["null in a nullable enum that lists it", { type: "string", nullable: true, enum: ["x", null] }, null],
    ["a fraction as a multiple", { type: "number", multipleOf: 0.1 }, 0.5],
    ["any value without a type", {}, [1]],
  ])("accepts %s", (_, schema, value) => {
    expect(validateAgainstSchema({ a: value }, field(schema))).toEqual([]);
  });

  it("names the members of a map, and the root", () => {
    const schema: StructuralSchema = { type: "object", additionalProperties: { type: "string" } };
    expect(validateAgainstSchema({ x: 1 }, schema)).toEqual([
      {
        type: "FieldValueTypeInvalid",
        field: "x",
        message: 'Invalid value: "integer": .x in body must be of type string: "integer"',
      },
    ]);
    expect(validateAgainstSchema("x", schema)[0]?.field).toBe("<nil>");
    expect(validateAgainstSchema({ x: 1 }, schema, "spec")[0]?.field).toBe("spec.x");
  });

  it("reports at most a thousand errors", () => {
    const schema: StructuralSchema = { type: "array", items: { type: "string" } };
    expect(validateAgainstSchema(new Array(5000).fill(1), schema)).toHaveLength(1000);
  });
});

describe("validation of an update", () => {
  const item: StructuralSchema = {
    type: "object",
    properties: { name: { type: "string" }, size: { type: "integer", maximum: 3 } },
  };
  const schema: StructuralSchema = {
    type: "object",
    required: ["must"],
    properties: {
      color: { type: "string", maxLength: 3 },
      nested: { type: "object", required: ["x"], properties: { y: { type: "integer" } } },
      keyed: { type: "array", items: item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
      atomic: { type: "array", items: item },
    },
  };
  const fieldsOf = (newValue: JsonValue, oldValue: JsonValue) =>
    schemaValidatorOf(schema)
      .validateUpdate(newValue, oldValue)
      .map((error) => error.field);
  const old = {
    must: 1,
    color: "green",
    nested: { y: 1 },
    keyed: [
      { name: "a", size: 9 },
      { name: "b", size: 1 },
    ],
    atomic: [{ size: 9 }],
  };

  it("tolerates errors that were present before", () => {
    expect(fieldsOf({ ...old, note: "changed" }, old)).toEqual([]);
  });

  it("refuses a changed value that is still wrong", () => {
    expect(fieldsOf({ ...old, color: "purple" }, old)).toEqual(["color"]);
  });

  it("refuses an object that lacks a field once it changes", () => {
    expect(fieldsOf({ ...old, nested: { y: 2 } }, old)).toEqual(["nested.x"]);
  });

  it("follows items of keyed lists wherever they move, and those of other lists not at all", () => {
    const keyed = [
      { name: "b", size: 2 },
      { name: "a", size: 9 },
    ];
    expect(fieldsOf({ ...old, keyed }, old)).toEqual([]);
    expect(fieldsOf({ ...old, atomic: [{ size: 9 }, { size: 1 }] }, old)).toEqual(["atomic[0].size"]);
  });
});

describe("whatever the value", () => {
  const scalar = (type: StructuralSchema["type"]) =>
    fc.record({ type: fc.constant(type), nullable: fc.boolean() }) as fc.Arbitrary<StructuralSchema>;
  const leaf: fc.Arbitrary<StructuralSchema> = fc.oneof(
    scalar("string").map((schema) => ({ ...schema, pattern: "^[a-b]*$", format: "date-time", default: "a" })),
    scalar("integer").map((schema) => ({ ...schema, minimum: 1, default: 2 })),
    scalar("boolean"),
    fc.constant<StructuralSchema>({ "x-kubernetes-int-or-string": true }),
    fc.constant<StructuralSchema>({ "x-kubernetes-preserve-unknown-fields": true }),
  );
  const { schema } = fc.letrec<{ schema: StructuralSchema }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc
        .dictionary(fc.constantFrom("a", "b", "c"), tie("schema"))
        .map((properties) => ({ type: "object", properties, required: ["a"] }) as StructuralSchema),
      tie("schema").map((items) => ({ type: "array", items, "x-kubernetes-list-type": "set" }) as StructuralSchema),
      tie("schema").map(
        (values) => ({ type: "object", additionalProperties: values, default: {} }) as StructuralSchema,
      ),
      fc.tuple(tie("schema"), tie("schema")).map(([one, other]) => ({ anyOf: [one, other], oneOf: [one], not: other })),
    ),
  }));
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(fc.string(), fc.double({ noNaN: true }), fc.integer(), fc.bigInt(), fc.boolean(), fc.constant(null)),
      fc.dictionary(fc.constantFrom("a", "b", "c", "x", "__proto__"), tie("value")),
      fc.array(tie("value"), { maxLength: 3 }),
    ) as fc.Arbitrary<JsonValue>,
  }));
  const hold = (predicate: (value: JsonValue, schema: StructuralSchema) => void) =>
    fc.assert(fc.property(value, schema, predicate), { seed: 13, numRuns: 2000 });

  it("validation never throws (seed 13)", () => {
    hold((anyValue, anySchema) => {
      validateAgainstSchema(anyValue, anySchema);
      schemaValidatorOf(anySchema).validateUpdate(anyValue, anyValue);
      validateListTypes(anyValue, anySchema, "");
    });
  });

  it("an unchanged value is never refused (seed 13)", () => {
    hold((anyValue, anySchema) => {
      expect(schemaValidatorOf(anySchema).validateUpdate(anyValue, anyValue)).toEqual([]);
    });
  });

  it("pruning twice is pruning once (seed 13)", () => {
    hold((anyValue, anySchema) => {
      const once = pruneUnknownFields(anyValue, anySchema).value;
      expect(pruneUnknownFields(once, anySchema)).toEqual({ value: once, unknownPaths: [] });
      expect(pruneUnknownFields(once, anySchema).value).toBe(once);
    });
  });

  it("defaulting twice is defaulting once (seed 13)", () => {
    hold((anyValue, anySchema) => {
      const once = applyDefaults(anyValue, anySchema);
      expect(applyDefaults(once, anySchema)).toBe(once);
    });
  });
});

describe("the budget of a check", () => {
  const items = (schema: StructuralSchema): StructuralSchema => ({ type: "array", items: schema });
  const names = Array.from({ length: 5_000 }, (_, at) => `member-${at}`);

  it.each<[string, StructuralSchema, JsonValue]>([
    ["required members of each item", items({ type: "object", required: names }), Array(5_000).fill({})],
    [
      "required members in an alternative",
      items({ type: "object", anyOf: [{ required: names }, {}] }),
      Array(5_000).fill({}),
    ],
    ["an enum of each item", items({ type: "string", enum: names }), Array(5_000).fill("none")],
  ])("counts %s", (_, schema, value) => {
    expect(() => createSchemaValidator(schema).validate(value, { most: 40_000_000 })).toThrow(
      SchemaValidationTooLongError,
    );
  });
});

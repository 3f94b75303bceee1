import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../json/json-value.ts";
import type { StructuralSchema } from "../structural-schema.ts";
import { findingsOfWalks } from "../testing/findings-of-walks.ts";
import { valuesOf } from "../testing/values-of-schema.ts";
import { createSchemaValidator } from "./validate-schema.ts";

const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
const withoutAbsent = (schema: object): StructuralSchema =>
  Object.fromEntries(Object.entries(schema).filter(([, member]) => member !== undefined)) as StructuralSchema;

const leaf: fc.Arbitrary<StructuralSchema> = fc.oneof(
  fc
    .record({
      type: fc.constant("string"),
      minLength: some(fc.constantFrom(0, 1, 2)),
      maxLength: some(fc.constantFrom(1, 63)),
      pattern: some(fc.constantFrom("^[a-z0-9-]*$", "^b", "(")),
      format: some(fc.constantFrom("date-time", "byte", "password")),
      enum: some(fc.constantFrom(["a"], ["a", null], [])),
      nullable: some(fc.boolean()),
      default: some(fc.constantFrom("a", null)),
    })
    .map(withoutAbsent),
  fc
    .record({
      type: fc.constantFrom("integer", "number"),
      format: some(fc.constantFrom("int32", "int64", "double")),
      minimum: some(fc.constantFrom(0, 1)),
      maximum: some(fc.constantFrom(2, 60)),
      exclusiveMaximum: some(fc.boolean()),
      multipleOf: some(fc.constantFrom(1, 2)),
      default: some(fc.constant(1)),
    })
    .map(withoutAbsent),
  fc
    .record({ type: fc.constant("boolean"), nullable: some(fc.boolean()), enum: some(fc.constant([true])) })
    .map(withoutAbsent),
  fc.constantFrom<StructuralSchema[]>(
    {},
    { "x-kubernetes-int-or-string": true },
    { "x-kubernetes-preserve-unknown-fields": true },
    { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    { type: "object" },
    { type: "array" },
    { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
  ),
);
const { schemas } = fc.letrec<{ schemas: StructuralSchema }>((tie) => ({
  schemas: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc
      .record({
        type: some(fc.constant("object")),
        properties: fc.dictionary(fc.constantFrom("a", "b", "toString"), tie("schemas")),
        required: some(fc.constantFrom(["a"], ["b"])),
        nullable: some(fc.boolean()),
        additionalProperties: some(fc.constantFrom(true, false)),
        minProperties: some(fc.constant(1)),
        maxProperties: some(fc.constant(2)),
        default: some(fc.constant({})),
        "x-kubernetes-preserve-unknown-fields": some(fc.boolean()),
      })
      .map(withoutAbsent),
    fc
      .record({
        type: some(fc.constant("array")),
        items: tie("schemas"),
        minItems: some(fc.constant(1)),
        maxItems: some(fc.constant(2)),
        uniqueItems: some(fc.boolean()),
        "x-kubernetes-list-type": some(fc.constantFrom("atomic", "set", "map")),
        "x-kubernetes-list-map-keys": some(fc.constantFrom(["a"], ["a", "b"])),
      })
      .map(withoutAbsent),
    fc.record({ type: fc.constant("object"), additionalProperties: tie("schemas") }).map(withoutAbsent),
    fc
      .tuple(tie("schemas"), tie("schemas"))
      .map(([one, other]): StructuralSchema => ({ anyOf: [one, other], not: one })),
  ),
}));

describe("isPlain", () => {
  it("is true only where no other walk finds anything, whatever the schema", () => {
    let plain = 0;
    let faultless = 0;
    fc.assert(
      fc.property(
        schemas.chain((schema) =>
          fc.tuple(fc.constant(schema), fc.array(valuesOf(schema), { minLength: 8, maxLength: 8 })),
        ),
        ([schema, values]) => {
          const { isPlain } = createSchemaValidator(schema);
          for (const value of values) {
            const found = findingsOfWalks(value, schema);
            if (found.length === 0) faultless++;
            if (!isPlain(value)) continue;
            plain++;
            expect(found).toEqual([]);
          }
        },
      ),
      { numRuns: 600 },
    );
    // An answer that never occurs proves nothing.
    expect(faultless).toBeGreaterThan(300);
    expect(plain / faultless).toBeGreaterThan(0.4);
  });

  it.each([
    ["large part once", 1_000, 1],
    ["small part each time", 10, 3],
  ])("looks at a %s", (_, length, looks) => {
    const list: StructuralSchema = { type: "array", items: { type: "integer" } };
    const spec: StructuralSchema = { type: "object", properties: { list, counted: { type: "integer" } } };
    const { isPlain } = createSchemaValidator({ type: "object", properties: { spec, status: { type: "string" } } });
    let reads = 0;
    const part = {
      list: Array.from({ length }, (_, at) => at),
      get counted() {
        return ++reads;
      },
    };
    for (const status of ["a", "b", "c"]) {
      const object = { spec: part, status };
      expect([isPlain(object), isPlain(object)]).toEqual([true, true]);
    }
    expect(reads).toBe(looks);
  });

  const text: StructuralSchema = { type: "string" };
  const named: StructuralSchema = {
    type: "object",
    properties: { name: text, tags: { type: "array", items: text, "x-kubernetes-list-type": "set" } },
  };
  it.each<[JsonValue, StructuralSchema, boolean]>([
    [{ name: "a", tags: ["x", "y"] }, named, true],
    [{ name: undefined }, named, true],
    [{ name: "a", tags: ["x", "x"] }, named, false],
    [{ name: "a", unknown: 1 }, named, false],
    [{ name: null }, named, false],
    [{ name: 1 }, named, false],
    [{}, { ...named, required: ["name"] }, false],
    [{ name: undefined }, { ...named, required: ["name"] }, false],
    [{}, { type: "object", properties: { name: { ...text, default: "x" } } }, false],
    [{ toString: "x" }, { type: "object", properties: {} }, false],
    [{ k: "v" }, { type: "object", additionalProperties: text }, true],
    ["😀", { ...text, minLength: 2 }, false],
    ["aa", { ...text, maxLength: 1 }, false],
    ["c", { ...text, enum: ["a", "b"] }, false],
    [2 ** 31, { type: "integer", format: "int32" }, false],
    [1, { type: "integer", minimum: 2 }, false],
    [
      [{ name: "a" }, { name: "a" }],
      { type: "array", items: named, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
      false,
    ],
    [
      [{ name: "a" }, { name: "b" }],
      { type: "array", items: named, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
      true,
    ],
  ])("%j under %j: %s", (value, schema, isPlain) => {
    expect(createSchemaValidator(schema).isPlain(value)).toBe(isPlain);
  });

  it("takes no part that has passed for one member as another's", () => {
    const labels: StructuralSchema = { type: "object", additionalProperties: text };
    const { isPlain } = createSchemaValidator({
      type: "object",
      properties: { labels, nested: { type: "object", properties: { labels, named } }, named },
    });
    const part = { name: "a", other: "b" };
    const within = { labels: part };
    expect(isPlain({ labels: part, nested: within })).toBe(true);
    expect(isPlain({ labels: part, nested: within })).toBe(true);
    expect(isPlain({ named: part })).toBe(false);
    expect(isPlain({ nested: { named: part } })).toBe(false);
    expect(isPlain({ named: within })).toBe(false);
    expect(isPlain({ labels: part, unknown: within })).toBe(false);
  });
});

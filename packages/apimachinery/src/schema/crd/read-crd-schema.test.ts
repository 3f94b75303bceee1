import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../json/json-value.ts";
import { readCrdSchema } from "./read-crd-schema.ts";

const PATH = "spec.versions[0].schema.openAPIV3Schema";
const definition = (openAPIV3Schema: JsonValue) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  spec: { versions: [{ name: "v1", schema: { openAPIV3Schema } }] },
});
const object = (properties: { readonly [name: string]: JsonValue }): JsonValue => ({ type: "object", properties });

describe("the schema of a CustomResourceDefinition", () => {
  it("is read keyword by keyword", () => {
    const schema = {
      type: "object",
      description: "A widget.",
      properties: {
        metadata: { type: "object", properties: { name: { type: "string", maxLength: 20 } } },
        spec: {
          type: "object",
          required: ["size"],
          properties: {
            size: { type: "integer", minimum: 1, maximum: 10 },
            color: { type: "string", maxLength: 5, pattern: "^[a-z]+$", default: "red" },
            free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            labels: { type: "object", additionalProperties: { type: "string" } },
            ports: {
              type: "array",
              items: object({ port: { type: "integer", default: 1 } }),
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["port"],
            },
            ios: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
            nul: { type: "string", nullable: true },
          },
          anyOf: [{ required: ["color"] }, { properties: { size: { minimum: 5 } } }],
        },
      },
    };
    expect(readCrdSchema(definition(schema), "v1")).toEqual({ schema, errors: [] });
  });

  it("leaves documentation out", () => {
    const { schema, errors } = readCrdSchema(definition({ type: "object", example: {}, externalDocs: {} }), "v1");
    expect({ schema, errors }).toEqual({ schema: { type: "object" }, errors: [] });
  });

  it.each<[string, JsonValue, string, string]>([
    ["an untyped root", {}, ".type", "Required value: must not be empty at the root"],
    [
      "an untyped field",
      object({ a: {} }),
      ".properties[a].type",
      "Required value: must not be empty for specified object fields",
    ],
    ["another root", { type: "string" }, ".type", 'Invalid value: "string": must be object at the root'],
    [
      "a list without items",
      object({ a: { type: "array" } }),
      ".properties[a].items",
      "Required value: must be specified",
    ],
    [
      "an unknown type",
      object({ a: { type: "date" } }),
      ".properties[a].type",
      'Unsupported value: "date": supported values: "array", "boolean", "integer", "number", "object", "string"',
    ],
    [
      "a list of types",
      object({ a: { type: ["string"] } }),
      ".properties[a].type",
      'Invalid value: ["string"]: must be a string',
    ],
    [
      "a reference",
      object({ a: { $ref: "#/x", type: "string" } }),
      ".properties[a].$ref",
      "Forbidden: $ref is not supported",
    ],
    [
      "unique items",
      object({ a: { type: "array", uniqueItems: true, items: { type: "string" } } }),
      ".properties[a].uniqueItems",
      "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
    ],
    [
      "a type inside anyOf",
      object({ a: { type: "string", anyOf: [{ type: "string" }] } }),
      ".properties[a].anyOf[0].type",
      "Forbidden: must be empty to be structural",
    ],
    [
      "a field only inside oneOf",
      { type: "object", oneOf: [{ properties: { a: { minimum: 1 } } }] },
      ".properties[a]",
      `Required value: because it is defined in ${PATH}.oneOf[0].properties[a]`,
    ],
    [
      "a bad pattern",
      object({ a: { type: "string", pattern: "+" } }),
      ".properties[a].pattern",
      'Invalid value: "+": must be a valid regular expression, but isn\'t: error parsing regexp: missing argument to repetition operator: `+`',
    ],
    [
      "a map list without keys",
      object({ a: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "map" } }),
      ".properties[a].x-kubernetes-list-map-keys",
      "Required value: must not be empty if x-kubernetes-list-type is map",
    ],
    [
      "a map at the root",
      { type: "object", additionalProperties: { type: "string" } },
      ".additionalProperties",
      "Forbidden: must not be used at the root",
    ],
    [
      "metadata of its own",
      object({ metadata: { type: "object", properties: { labels: { type: "object" } } } }),
      ".properties[metadata]",
      "Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
    ],
    ["no schema", null, "", "Required value: schemas are required"],
  ])("is refused with %s", (_, schema, path, message) => {
    const { errors } = readCrdSchema(definition(schema), "v1");
    expect(errors.map(({ field, message: text }) => [field, text])).toContainEqual([PATH + path, message]);
  });

  it("must have the version", () => {
    expect(readCrdSchema(definition({ type: "object" }), "v2").errors).toEqual([
      { type: "FieldValueNotFound", field: "spec.versions", message: 'Not found: "v2"' },
    ]);
  });

  it("is read without a throw, whatever it is (seed 17)", () => {
    const keyword = fc.constantFrom("type", "properties", "items", "anyOf", "not", "pattern", "enum", "a", "__proto__");
    const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
      json: fc.oneof(
        { maxDepth: 5 },
        fc.oneof(fc.constantFrom("object", "array", "("), fc.integer(), fc.boolean(), fc.constant(null)),
        fc.dictionary(keyword, tie("json")),
        fc.array(tie("json"), { maxLength: 3 }),
      ) as fc.Arbitrary<JsonValue>,
    }));
    fc.assert(
      fc.property(json, (schema) => {
        readCrdSchema(definition(schema), "v1");
      }),
      { seed: 17, numRuns: 2000 },
    );
  });
});

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { describe, expect, it } from "vitest";
import { toFieldsV1 } from "../fieldpath/fields-v1.ts";
import { objectSchemaFrom, typedSchemaFrom } from "./schema-from-structural.ts";
import { toFieldSet } from "./to-field-set.ts";
import { validateValue } from "./validate-value.ts";

const STRING: StructuralSchema = { type: "string" };
const ITEM: StructuralSchema = { type: "object", properties: { name: STRING, a: STRING } };

describe("schema from structural schema", () => {
  it.each<[string, StructuralSchema, JsonValue, object]>([
    ["a list is atomic", { type: "array", items: STRING }, ["a"], {}],
    ["a set by item", { type: "array", items: STRING, "x-kubernetes-list-type": "set" }, ["a"], { 'v:"a"': {} }],
    [
      "a map list by key",
      { type: "array", items: ITEM, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
      [{ name: "n" }],
      { 'k:{"name":"n"}': { ".": {}, "f:name": {} } },
    ],
    [
      "a list of a built-in kind by its patch strategy",
      {
        type: "array",
        items: ITEM,
        "x-kubernetes-patch-strategy": "merge,retainKeys",
        "x-kubernetes-patch-merge-key": "name",
      },
      [{ name: "n" }],
      { 'k:{"name":"n"}': { ".": {}, "f:name": {} } },
    ],
    ["a struct by member", ITEM, { a: "x" }, { "f:a": {} }],
    ["an atomic struct as a whole", { ...ITEM, "x-kubernetes-map-type": "atomic" }, { a: "x" }, {}],
    ["a map by key", { type: "object", additionalProperties: STRING }, { k: "x" }, { "f:k": {} }],
    [
      "an object without properties is free-form",
      { type: "object" },
      { k: { l: [1] } },
      { "f:k": { ".": {}, "f:l": {} } },
    ],
    [
      "unknown fields are deduced where they are preserved",
      { ...ITEM, "x-kubernetes-preserve-unknown-fields": true },
      { a: "x", k: { l: 1 } },
      { "f:a": {}, "f:k": { ".": {}, "f:l": {} } },
    ],
    [
      "an embedded resource has metadata of its own",
      { type: "object", "x-kubernetes-embedded-resource": true, properties: { spec: ITEM } },
      { apiVersion: "v1", kind: "K", metadata: { labels: { a: "b" } } },
      { "f:apiVersion": {}, "f:kind": {}, "f:metadata": { "f:labels": { "f:a": {} } } },
    ],
  ])("%s", (_, structural, value, below) => {
    const schema = typedSchemaFrom({ type: "object", properties: { field: structural } });
    validateValue({ field: value }, schema);
    expect(toFieldsV1(toFieldSet({ field: value }, schema))).toEqual({ "f:field": below });
  });

  it.each<[string, StructuralSchema, JsonValue]>([
    ["an integer or a string", { "x-kubernetes-int-or-string": true }, 1],
    ["an integer or a string", { "x-kubernetes-int-or-string": true }, "50%"],
    ["a nullable scalar", { type: "string", nullable: true }, null],
    ["a float where numbers are asked for", { type: "integer" }, 1.5],
  ])("accepts %s", (_, structural, value) => {
    expect(() => validateValue(value, typedSchemaFrom(structural))).not.toThrow();
  });

  it("refuses undeclared fields of a struct", () => {
    expect(() => validateValue({ b: 1 }, typedSchemaFrom(ITEM))).toThrow(".b: field not declared in schema");
    const closed = typedSchemaFrom({ type: "object", additionalProperties: false });
    expect(() => validateValue({ b: 1 }, closed)).toThrow(".b: field not declared in schema");
  });

  it("gives every object its apiVersion, kind and metadata, whatever its own schema says of them", () => {
    const schema = objectSchemaFrom({ type: "object", properties: { metadata: { type: "object" }, spec: ITEM } });
    expect(() => validateValue({ apiVersion: "v1", metadata: { bogus: 1 } }, schema)).toThrow(
      ".metadata.bogus: field not declared in schema",
    );
    expect(() => validateValue({ bogus: 1 }, schema)).toThrow(".bogus: field not declared in schema");
    expect(() => validateValue({ bogus: 1 }, objectSchemaFrom(undefined))).not.toThrow();
  });
});

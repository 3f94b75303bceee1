import { describe, expect, it } from "vitest";
import { parseFieldsV1, toFieldsV1 } from "../fieldpath/fields-v1.ts";
import { reconcileFieldSet } from "./reconcile-field-set.ts";
import { typedSchemaFrom } from "./schema-from-structural.ts";
import { DEDUCED } from "./typed-schema.ts";

const STRING = { type: "string" } as const;
const schema = typedSchemaFrom({
  type: "object",
  properties: {
    granular: { type: "object", properties: { a: STRING } },
    atomic: { type: "object", properties: { a: STRING }, "x-kubernetes-map-type": "atomic" },
    list: { type: "array", items: STRING },
    parent: { type: "object", properties: { list: { type: "array", items: STRING } } },
  },
});

describe("reconcileFieldSet", () => {
  it("owns as a whole what has become atomic", () => {
    const set = parseFieldsV1({
      "f:granular": { "f:a": {} },
      "f:atomic": { ".": {}, "f:a": {} },
      "f:list": { 'v:"x"': {} },
      "f:parent": { "f:list": { 'v:"x"': {} } },
    });
    expect(toFieldsV1(reconcileFieldSet(set, schema))).toEqual({
      "f:granular": { "f:a": {} },
      "f:atomic": {},
      "f:list": {},
      "f:parent": { "f:list": {} },
    });
  });

  it.each([
    ["fits", { "f:granular": { "f:a": {} }, "f:atomic": {}, "f:list": {} }],
    ["was atomic", { "f:granular": {} }],
    ["names unknown fields", { "f:gone": { "f:a": { "v:1": {} } } }],
  ])("hands back a set that %s", (_, fields) => {
    const set = parseFieldsV1(fields);
    expect(reconcileFieldSet(set, schema)).toBe(set);
  });

  it("leaves schemaless sets alone", () => {
    const set = parseFieldsV1({ "f:a": { "f:b": { "v:1": {} } } });
    expect(reconcileFieldSet(set, DEDUCED)).toBe(set);
  });
});

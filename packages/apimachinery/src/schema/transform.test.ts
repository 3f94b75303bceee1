// Expected answers: k8s.io/apiextensions-apiserver v0.32.1 pkg/apiserver/schema/{pruning,defaulting,listtype},
// in testdata/13b-pruning.json, testdata/13c-defaulting.json and testdata/13d-list-set-map.json.

import { describe, expect, it } from "vitest";
import { applyDefaults, pruneNulls, setDefaults } from "./default.ts";
import { validateListTypes } from "./list-type.ts";
import { pruneUnknownFields } from "./prune.ts";
import pruning from "./testdata/13b-pruning.json" with { type: "json" };
import defaulting from "./testdata/13c-defaulting.json" with { type: "json" };
import listTypes from "./testdata/13d-list-set-map.json" with { type: "json" };

const byText = (a: { field: string; message: string }, b: { field: string; message: string }) =>
  a.field + a.message < b.field + b.message ? -1 : 1;

describe("pruning", () => {
  it.each(pruning.cases as any[])("$id drops what upstream drops", (vector) => {
    const { value, unknownPaths } = pruneUnknownFields(vector.in, vector.schema, {
      isResourceRoot: vector.isResourceRoot,
    });
    expect(value).toEqual(vector.out);
    if (vector.trackUnknownFieldPaths) expect(unknownPaths).toEqual(vector.unknownFieldPaths ?? []);
  });

  it("gives a clean object back itself", () => {
    const clean = { spec: { list: [{ a: 1 }] } };
    const items = { type: "object", properties: { a: { type: "integer" } } } as const;
    const schema = {
      properties: { spec: { type: "object", properties: { list: { type: "array", items } } } },
    } as const;
    expect(pruneUnknownFields(clean, schema).value).toBe(clean);
  });

  it("copies only the way to what it drops", () => {
    const dirty = { kept: { a: 1 }, spec: { a: 1, x: 1 } };
    const object = { type: "object", properties: { a: { type: "integer" } } } as const;
    const { value, unknownPaths } = pruneUnknownFields(dirty, { properties: { kept: object, spec: object } });
    expect(value).toEqual({ kept: { a: 1 }, spec: { a: 1 } });
    expect((value as any).kept).toBe(dirty.kept);
    expect(dirty.spec).toHaveProperty("x");
    expect(unknownPaths).toEqual(["spec.x"]);
  });

  it.each(["constructor", "toString", "__proto__"])("a field named %s is unknown like any other", (name) => {
    const { value, unknownPaths } = pruneUnknownFields(JSON.parse(`{"${name}": {"a": 1}}`), { properties: {} });
    expect(Object.keys(value as object)).toEqual([]);
    expect(unknownPaths).toEqual([name]);
  });

  it("prunes what a preserving schema declares", () => {
    const schema = {
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { known: { type: "object", properties: { a: {} } } },
    } as const;
    const { value } = pruneUnknownFields({ free: { x: 1 }, known: { a: 1, x: 1 } }, schema);
    expect(value).toEqual({ free: { x: 1 }, known: { a: 1 } });
  });
});

describe("defaulting", () => {
  it.each(defaulting.cases as any[])("$id $name ends as upstream's", (vector) => {
    const transform = vector.kind === "pruneNulls" ? pruneNulls : setDefaults;
    expect(transform(vector.in, vector.schema)).toEqual(vector.out);
  });

  const schema = {
    type: "object",
    properties: {
      color: { type: "string", default: "red" },
      note: { type: "string" },
      free: { type: "string", nullable: true },
      nested: { type: "object", default: {}, properties: { port: { type: "integer", default: 80 } } },
    },
  } as const;

  it("fills what is absent, replaces nulls, keeps nullable nulls, drops the others", () => {
    const object = { color: null, note: null, free: null };
    expect(applyDefaults(object, schema)).toEqual({ color: "red", free: null, nested: { port: 80 } });
  });

  it.each(["", false, 0])("keeps the empty value %j", (empty) => {
    expect(applyDefaults({ color: empty, nested: { port: 0 } }, schema)).toEqual({ color: empty, nested: { port: 0 } });
  });

  it("gives an object that lacks nothing back itself", () => {
    const full = { color: "blue", nested: { port: 1 } };
    expect(applyDefaults(full, schema)).toBe(full);
  });
});

describe("list types", () => {
  it.each(listTypes.cases as any[])("$id is judged as upstream does", ({ object, schema, errors }) => {
    const expected = errors.map(({ type, field, message }: any) => ({ type, field, message }));
    expect([...validateListTypes(object, schema, "root")].sort(byText)).toEqual(expected.sort(byText));
  });

  it("paths begin at the object when there is no parent", () => {
    const schema = { properties: { spec: { properties: { tags: { "x-kubernetes-list-type": "set" } } } } } as const;
    expect(validateListTypes({ spec: { tags: ["a", "a"] } }, schema, "")[0]?.field).toBe("spec.tags[1]");
  });
});

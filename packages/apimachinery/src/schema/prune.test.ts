// Expected answers: k8s.io/apiextensions-apiserver v0.32.1 pkg/apiserver/schema/pruning, in testdata/13b-pruning.json.

import { describe, expect, it } from "vitest";
import { pruneUnknownFields } from "./prune.ts";
import pruning from "./testdata/13b-pruning.json" with { type: "json" };

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

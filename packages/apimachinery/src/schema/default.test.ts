// Expected answers: k8s.io/apiextensions-apiserver v0.32.1 pkg/apiserver/schema/defaulting, in testdata/13c-defaulting.json.

import { describe, expect, it } from "vitest";
import { applyDefaults, pruneNulls, setDefaults } from "./default.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import defaulting from "./testdata/13c-defaulting.json" with { type: "json" };

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

describe("a schema with thousands of properties", () => {
  it("is looked through once, however many items it describes", () => {
    let reads = 0;
    const properties: { [name: string]: StructuralSchema } = { color: { type: "string", default: "red" } };
    for (let at = 0; at < 1_000; at++) {
      const get = (): StructuralSchema => {
        reads++;
        return { type: "string" };
      };
      Object.defineProperty(properties, `p${at}`, { enumerable: true, get });
    }
    const value = setDefaults(Array(100).fill({}), { type: "array", items: { type: "object", properties } });
    expect(value).toEqual(Array(100).fill({ color: "red" }));
    expect(reads).toBe(1_000);
  });
});

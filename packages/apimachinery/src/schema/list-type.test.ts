// Expected answers: k8s.io/apiextensions-apiserver v0.32.1 pkg/apiserver/schema/listtype, in testdata/13d-list-set-map.json,
// with the texts that 1.36 changed.

import { describe, expect, it } from "vitest";
import { validateListTypes } from "./list-type.ts";
import listTypes from "./testdata/13d-list-set-map.json" with { type: "json" };

const byText = (a: { field: string; message: string }, b: { field: string; message: string }) =>
  a.field + a.message < b.field + b.message ? -1 : 1;

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

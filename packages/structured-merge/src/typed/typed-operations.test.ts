// Vectors of structured-merge-diff v6.4.2, typed/*_test.go.

import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { describe, expect, it } from "vitest";
import { leaves } from "../fieldpath/field-set.ts";
import { parseFieldsV1, toFieldsV1 } from "../fieldpath/fields-v1.ts";
import { compareValues } from "./compare-values.ts";
import { mergeValues } from "./merge-values.ts";
import { reconcileFieldSet } from "./reconcile-field-set.ts";
import { extractItems, removeItems } from "./remove-items.ts";
import { typedSchemaFrom } from "./schema-from-structural.ts";
import vectors from "./testdata/typed-operations.json" with { type: "json" };
import { schemaFromNotation } from "./testing/schema-from-notation.ts";
import { toFieldSet } from "./to-field-set.ts";
import { TypedValueError } from "./typed-value-error.ts";
import { validateValue } from "./validate-value.ts";

const fieldsOf = (fields: unknown) => toFieldsV1(parseFieldsV1(fields as never));

/** The vectors were read from YAML, which Go decodes into another map type than JSON. */
const asDecodedFromJson = (error: string) =>
  error.replaceAll("map[interface {}]interface {}", "map[string]interface {}");

const messageOf = (run: () => void): string => {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return "";
};

const schemasOf = (vector: any) => [
  { from: "its own notation", schema: schemaFromNotation(vector.schema, vector.rootType) },
  ...(vector.jsonSchema === undefined || vector.kind === "validate" || isApproximated(vector)
    ? []
    : [{ from: "a structural schema", schema: typedSchemaFrom(vector.jsonSchema as StructuralSchema) }]),
];

/** A structural schema can say neither "anything, atomic" nor a recursive type. */
const isApproximated = (vector: any) => /__untyped_|Recursive/.test(JSON.stringify(vector.schema));

const cases = (kind: string) =>
  (vectors.cases as any[])
    .filter((vector) => vector.kind === kind)
    .flatMap((vector) => schemasOf(vector).map(({ from, schema }) => ({ ...vector, from, schema })));

describe("typed operations", () => {
  it.each(cases("validate"))("validates: $id $name", ({ object, schema, valid, validAllowingDuplicates, error }) => {
    const validate = (allowDuplicates: boolean) => () => validateValue(object, schema, { allowDuplicates });
    if (valid) expect(validate(false)).not.toThrow();
    else expect(validate(false)).toThrow(TypedValueError);
    if (error !== undefined) expect(messageOf(validate(false))).toBe(asDecodedFromJson(error));
    if (validAllowingDuplicates) expect(validate(true)).not.toThrow();
    else expect(validate(true)).toThrow();
  });

  it.each(cases("toFieldSet"))("makes field sets: $id $name from $from", ({ object, schema, set }) => {
    expect(toFieldsV1(toFieldSet(object, schema))).toEqual(fieldsOf(set));
  });

  it.each(cases("merge"))("merges: $id $name from $from", ({ lhs, rhs, out, schema }) => {
    expect(mergeValues(lhs, rhs, schema)).toEqual(out);
  });

  it.each(cases("compare"))("compares: $id $name from $from", ({ lhs, rhs, schema, ...expected }) => {
    const { added, removed, modified } = compareValues(lhs, rhs, schema);
    expect({ added: toFieldsV1(added), removed: toFieldsV1(removed), modified: toFieldsV1(modified) }).toEqual({
      added: fieldsOf(expected.added),
      removed: fieldsOf(expected.removed),
      modified: fieldsOf(expected.modified),
    });
  });

  it.each(cases("removeItems"))("removes and extracts: $id $name from $from", (vector) => {
    const set = parseFieldsV1(vector.set);
    expect(removeItems(vector.object, set, vector.schema)).toEqual(vector.removed ?? null);
    expect(extractItems(vector.object, set, vector.schema)).toEqual(vector.extracted);
  });

  it.each(cases("reversibleExtract"))("extracts what was merged: $id $name from $from", (vector) => {
    const merged = mergeValues(vector.object, vector.partial, vector.schema);
    const owned = leaves(toFieldSet(vector.partial, vector.schema));
    expect(extractItems(merged, owned, vector.schema)).toEqual(vector.partial);
  });

  it.each(cases("reconcileFieldSet"))("reconciles: $id $name", ({ oldFields, fixedFields, schema }) => {
    const set = parseFieldsV1(oldFields);
    const reconciled = reconcileFieldSet(set, schema);
    if (fixedFields === null) expect(reconciled).toBe(set);
    else expect(toFieldsV1(reconciled)).toEqual(fieldsOf(fixedFields));
  });
});

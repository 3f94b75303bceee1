// Draws values for a schema: most of them valid, some with a fault.

import fc from "fast-check";
import type { JsonValue } from "../../json/json-value.ts";
import type { StructuralSchema } from "../structural-schema.ts";

const odd: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue[]>(
  null,
  "",
  "a",
  "b".repeat(40),
  "😀",
  false,
  0,
  -1,
  1.5,
  2 ** 40,
  10n ** 17n,
  true,
  [],
  ["a", "a"],
  [null],
  [[]],
  {},
  { a: 1, zz: null },
  { metadata: { name: 1 } },
);

const TEXTS_OF_FORMATS: { readonly [format: string]: readonly string[] } = {
  "date-time": ["2026-01-02T15:04:05Z", "2026-01-02T15:04:05.678+01:00", "yesterday"],
  byte: ["", "MQ==", "%"],
};

/** One in eight of the values inside is of any kind. */
export function valuesOf(schema: StructuralSchema, depth = 0): fc.Arbitrary<JsonValue> {
  return fc.oneof({ weight: 7, arbitrary: fitting(schema, depth) }, { weight: depth > 12 ? 0 : 1, arbitrary: odd });
}

function fitting(schema: StructuralSchema, depth: number): fc.Arbitrary<JsonValue> {
  if (schema.enum !== undefined && schema.enum.length > 0) return fc.constantFrom(...schema.enum, false, "zz");
  if (schema["x-kubernetes-int-or-string"] === true) return fc.constantFrom<JsonValue[]>(1, "50%");
  if (schema.nullable === true && depth % 2 === 1) return fc.constant(null);
  switch (schema.type) {
    case "string":
      return fc.constantFrom(...(TEXTS_OF_FORMATS[schema.format ?? ""] ?? ["a", "b-1", "ab", "", "a".repeat(70)]));
    case "integer":
      return fc.constantFrom(0, 1, 2, 3, 60, 86_400);
    case "number":
      return fc.constantFrom(0, 1, 2.5);
    case "boolean":
      return fc.boolean();
    case "array":
      return fc.array(valuesOf(schema.items ?? {}, depth + 1), { maxLength: depth > 8 ? 0 : 3 });
    default:
      return members(schema, depth);
  }
}

function members(schema: StructuralSchema, depth: number): fc.Arbitrary<JsonValue> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const known = Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, valuesOf(property, depth + 1)]),
  );
  const values = typeof additionalProperties === "object" ? valuesOf(additionalProperties, depth + 1) : odd;
  const others =
    additionalProperties === undefined && schema["x-kubernetes-preserve-unknown-fields"] !== true
      ? // Now and then one that is not known.
        fc.oneof({ weight: 19, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: fc.constant({ unknown: 1 }) })
      : fc.dictionary(fc.constantFrom("x", "y", "toString", "__proto__"), values, { maxKeys: 2 });
  // Objects nest without end where a schema does.
  const chosen = depth > 8 ? {} : known;
  const needed = required.filter((name) => Object.hasOwn(chosen, name) && depth % 3 !== 1);
  return fc
    .tuple(fc.record(chosen, { requiredKeys: needed, noNullPrototype: true }), others)
    .map(([own, more]) => ({ ...own, ...(more as object) }) as JsonValue);
}

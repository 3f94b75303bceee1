// Reads the schema notation of structured-merge-diff's own tests, so that their vectors run on our types.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import {
  ATOMIC,
  DEDUCED,
  type ListSchema,
  type MapField,
  type MapSchema,
  type ScalarKind,
  type TypedSchema,
} from "../typed-schema.ts";

type AtomNotation = {
  readonly scalar?: string;
  readonly list?: {
    readonly elementRelationship?: string;
    readonly keys?: readonly string[];
    readonly elementType: TypeRefNotation;
  };
  readonly map?: {
    readonly elementRelationship?: string;
    readonly elementType?: TypeRefNotation;
    readonly fields?: readonly {
      readonly name: string;
      readonly type: TypeRefNotation;
      readonly default?: JsonValue;
    }[];
  };
};
type TypeRefNotation = AtomNotation & { readonly namedType?: string; readonly elementRelationship?: string };
export type SchemaNotation = { readonly types: readonly (AtomNotation & { readonly name: string })[] };

/** The type called `name`. Types may refer to themselves. */
export function schemaFromNotation(notation: SchemaNotation, name: string): TypedSchema {
  const named = new Map(notation.types.map((type) => [type.name, type]));
  const known = new Map<string, TypedSchema>([
    ["__untyped_atomic_/", ATOMIC],
    ["__untyped_deduced_/", DEDUCED],
  ]);

  const resolve = (ref: TypeRefNotation): TypedSchema => {
    const id = ref.namedType === undefined ? undefined : `${ref.namedType}/${ref.elementRelationship ?? ""}`;
    const before = id === undefined ? undefined : known.get(id);
    if (before !== undefined) return before;
    const atom = ref.namedType === undefined ? ref : named.get(ref.namedType);
    if (atom === undefined) throw new Error(`no type ${ref.namedType}`);
    const schema: { -readonly [K in keyof TypedSchema]: TypedSchema[K] } = {};
    if (id !== undefined) known.set(id, schema);
    if (atom.scalar !== undefined) schema.scalar = atom.scalar as ScalarKind;
    if (atom.list !== undefined) schema.list = listOf(atom.list, ref.elementRelationship);
    if (atom.map !== undefined) schema.map = mapOf(atom.map, ref.elementRelationship);
    return schema;
  };

  const listOf = (list: NonNullable<AtomNotation["list"]>, override: string | undefined): ListSchema => ({
    kind: "list",
    relationship: (override ?? list.elementRelationship) === "associative" ? "associative" : "atomic",
    keys: list.keys ?? [],
    element: resolve(list.elementType),
  });

  const mapOf = (map: NonNullable<AtomNotation["map"]>, override: string | undefined): MapSchema => ({
    kind: "map",
    relationship: (override ?? map.elementRelationship) === "atomic" ? "atomic" : "granular",
    fields: new Map(
      (map.fields ?? []).map((field): [string, MapField] => [
        field.name,
        { schema: resolve(field.type), ...(field.default === undefined ? {} : { default: field.default }) },
      ]),
    ),
    ...(map.elementType === undefined ? {} : { element: resolve(map.elementType) }),
  });

  return resolve({ namedType: name });
}

// Adds the structs on the way to a set's members, which sets leave out, so that removing can tell structs from maps.
// Source: sigs.k8s.io/structured-merge-diff/fieldpath/set.go (EnsureNamedFieldsAreMembers)

import type { FieldSet } from "../fieldpath/field-set.ts";
import { fieldNameOf, type PathElement } from "../fieldpath/path-element.ts";
import { memberSchema, type TypedSchema } from "./typed-schema.ts";

/** `set` with every declared field that has members below it as a member itself; keys of maps are left as they are. */
export function withNamedFields(set: FieldSet, schema: TypedSchema): FieldSet {
  if (set.children.size === 0) return set;
  const members = new Set(set.members);
  const children = new Map<PathElement, FieldSet>();
  for (const [element, child] of set.children) {
    const name = fieldNameOf(element);
    if (name !== undefined && schema.map?.fields.has(name)) members.add(element);
    children.set(element, withNamedFields(child, schemaBelow(schema, element)));
  }
  return { members, children };
}

/** Forgets everything below a step that the schema does not know. */
const NOTHING: TypedSchema = {};

function schemaBelow(schema: TypedSchema, element: PathElement): TypedSchema {
  const name = fieldNameOf(element);
  if (name !== undefined) return (schema.map && memberSchema(schema.map, name)) ?? NOTHING;
  if (element.startsWith("k:")) return schema.list?.element ?? NOTHING;
  return NOTHING;
}

// Brings a stored field set in line with a schema in which a field has become atomic since.
// Source: sigs.k8s.io/structured-merge-diff/typed/reconcile_schema.go

import { type FieldSet, withLastResult } from "../fieldpath/field-set.ts";
import { fieldNameOf, type PathElement } from "../fieldpath/path-element.ts";
import { ATOMIC, type MapSchema, memberSchema, type TypedSchema } from "./typed-schema.ts";

/**
 * The set with every field that is atomic now owned as a whole; the set itself when it fits already. A field that has
 * become granular is treated as if it always had been, and fields that the schema does not know are left as they are.
 */
export function reconcileFieldSet(set: FieldSet, schema: TypedSchema): FieldSet {
  if (schema.map !== undefined && isDeduced(schema.map)) return set;
  let members: Set<PathElement> | undefined;
  let children: Map<PathElement, FieldSet> | undefined;
  const reconcileBelow = withLastResult(reconcileFieldSet);
  for (const [element, child] of set.children) {
    const childSchema = schemaBelow(schema, element);
    if (childSchema === undefined) continue;
    if (isAtomic(childSchema)) {
      members = (members ?? new Set(set.members)).add(element);
      children ??= new Map(set.children);
      children.delete(element);
      continue;
    }
    const reconciled = reconcileBelow(child, childSchema);
    if (reconciled !== child) children = (children ?? new Map(set.children)).set(element, reconciled);
  }
  return children === undefined ? set : { members: members ?? set.members, children };
}

/** Deduced values change their form with every value, so that there is nothing to bring in line. */
const isDeduced = ({ fields, element }: MapSchema): boolean =>
  fields.size === 0 && element !== ATOMIC && element?.scalar === "untyped";

/** If a schema has several forms, the map decides, as for values of no form. */
const isAtomic = ({ map, scalar, list }: TypedSchema): boolean =>
  map === undefined ? scalar === undefined && list?.relationship === "atomic" : map.relationship === "atomic";

function schemaBelow({ map, scalar, list }: TypedSchema, element: PathElement): TypedSchema | undefined {
  if (map !== undefined) return memberSchema(map, fieldNameOf(element) ?? "");
  return scalar === undefined ? list?.element : undefined;
}

// Prunes a merged object: removes the fields that an applier set before and no longer sets.
// Source: sigs.k8s.io/structured-merge-diff/merge/update.go (prune)

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { Steps } from "@postern/apimachinery/steps/steps";
import {
  difference,
  type FieldSet,
  intersection,
  isEmptyFieldSet,
  union,
  withLastResult,
} from "../fieldpath/field-set.ts";
import { fieldNameOf, type PathElement } from "../fieldpath/path-element.ts";
import { removeItems } from "../typed/remove-items.ts";
import { toFieldSet } from "../typed/to-field-set.ts";
import { memberSchema, type TypedSchema } from "../typed/typed-schema.ts";
import type { Owners } from "./versioned-set.ts";

/**
 * Removes a field only if the applier owned it and it has no owner now. Fields below a removed one go with it, unless the applier did not own them.
 * @param lastSet what the applier owned before
 * @param owners the fields of all managers, with those that the applier owns now
 */
export function* pruneGivenUp(
  merged: JsonValue,
  lastSet: FieldSet,
  owners: Owners,
  manager: string,
  schema: TypedSchema,
): Steps<JsonValue> {
  const ownSet = owners.get(manager)?.set;
  // Nothing was given up: the common case of an apply that is repeated.
  if (ownSet !== undefined && isEmptyFieldSet(difference(lastSet, ownSet))) return merged;

  const named = (set: FieldSet): FieldSet => withNamedFields(set, schema);
  const fieldsOf = (value: JsonValue): FieldSet => named(toFieldSet(value, schema));
  yield;
  const mergedSet = fieldsOf(merged);
  yield;

  const withoutLast = removeItems(merged, named(lastSet), schema);
  yield;
  const rest = fieldsOf(withoutLast);
  yield;
  let owned = rest;
  for (const { set } of owners.values()) {
    owned = union(owned, named(set));
    yield;
  }
  const withOwned = removeItems(merged, difference(mergedSet, owned), schema);

  yield;
  const gone = difference(mergedSet, fieldsOf(withOwned));
  yield;
  return removeItems(merged, intersection(gone, named(lastSet)), schema);
}

// Source: sigs.k8s.io/structured-merge-diff/fieldpath/set.go (EnsureNamedFieldsAreMembers)
/** `set` with every declared field that has members below it as a member itself; keys of maps are left as they are. */
function withNamedFields(set: FieldSet, schema: TypedSchema): FieldSet {
  if (set.children.size === 0) return set;
  const members = new Set(set.members);
  const children = new Map<PathElement, FieldSet>();
  const namedBelow = withLastResult(withNamedFields);
  for (const [element, child] of set.children) {
    const name = fieldNameOf(element);
    if (name !== undefined && schema.map?.fields.has(name)) members.add(element);
    children.set(element, namedBelow(child, schemaBelow(schema, element)));
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

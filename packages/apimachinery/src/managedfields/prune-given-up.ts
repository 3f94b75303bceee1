// Removes from a merged object what an applier applied before and does not apply any more.
// Source: sigs.k8s.io/structured-merge-diff/merge/update.go (prune)

import { difference, type FieldSet, intersection, isEmptyFieldSet, union } from "../fieldpath/field-set.ts";
import type { JsonValue } from "../json/json-value.ts";
import { removeItems } from "../typed/remove-items.ts";
import { toFieldSet } from "../typed/to-field-set.ts";
import type { TypedSchema } from "../typed/typed-schema.ts";
import { withNamedFields } from "../typed/with-named-fields.ts";
import type { Owners } from "./merge-updater.ts";

/**
 * Removes a field only when the applier owned it and nobody owns it now. Fields below a removed one go with it, unless
 * the applier did not own them.
 * @param lastSet what the applier owned before
 * @param owners everybody's fields, with what the applier owns now
 */
export function pruneGivenUp(
  merged: JsonValue,
  lastSet: FieldSet,
  owners: Owners,
  manager: string,
  schema: TypedSchema,
): JsonValue {
  const ownSet = owners.get(manager)?.set;
  // Nothing was given up: the common case of an apply that is repeated.
  if (ownSet !== undefined && isEmptyFieldSet(difference(lastSet, ownSet))) return merged;

  const named = (set: FieldSet): FieldSet => withNamedFields(set, schema);
  const fieldsOf = (value: JsonValue): FieldSet => named(toFieldSet(value, schema));
  const mergedSet = fieldsOf(merged);

  const withoutLast = removeItems(merged, named(lastSet), schema);
  const owned = [...owners.values()].reduce((all, { set }) => union(all, named(set)), fieldsOf(withoutLast));
  const withOwned = removeItems(merged, difference(mergedSet, owned), schema);

  const gone = difference(mergedSet, fieldsOf(withOwned));
  return removeItems(merged, intersection(gone, named(lastSet)), schema);
}

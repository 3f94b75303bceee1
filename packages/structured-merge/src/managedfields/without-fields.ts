// Takes single fields out of an apply configuration: for a manager that leaves conflicting fields to their owners.

import { withoutNulls } from "@postern/apimachinery/json/without-nulls";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { fieldSetOf, isEmptyFieldSet, pathsOf } from "../fieldpath/field-set.ts";
import { formatFieldPath } from "../fieldpath/path-element.ts";
import { removeItems } from "../typed/remove-items.ts";
import { objectSchemaFrom } from "../typed/schema-from-structural.ts";
import { toFieldSet } from "../typed/to-field-set.ts";
import { jsonOf } from "./object-managed-fields.ts";

/** `fields` are paths as a conflict prints them, such as `.spec.members[kind="User",name="jane"].clusterRole`. The object itself where none is in it. */
export function withoutFields(
  applied: KubeObject,
  fields: ReadonlySet<string>,
  structural: StructuralSchema,
): KubeObject {
  const schema = objectSchemaFrom(structural);
  const value = jsonOf(applied);
  const taken = fieldSetOf(...pathsOf(toFieldSet(value, schema)).filter((path) => fields.has(formatFieldPath(path))));
  if (isEmptyFieldSet(taken)) return applied;
  // A value that lost its last field came out as null, and would ask for its removal.
  // apiVersion, kind and metadata.name have no owner: it stays an object of its kind.
  return withoutNulls(removeItems(value, taken, schema)) as KubeObject;
}

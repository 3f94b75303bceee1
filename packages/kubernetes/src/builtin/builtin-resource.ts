// Common parts of all built-in kinds: strategic merge patch, no generation, and the ways their lists are merged.

import { type Field, s } from "@postern/apimachinery/schema/builder";
import {
  defineResource,
  type PrinterColumn,
  type ResourceDefinition,
} from "@postern/apiserver/registry/resource-definition";

export const defineBuiltin = (definition: ResourceDefinition): ResourceDefinition =>
  defineResource({ strategicMergePatch: true, tracksGeneration: false, ...definition });

/** A list that strategic merge patches merge item by item: objects by their `key`, scalars (no key) by value. */
export const mergedInPatches = <T>(list: Field<T, boolean>, key?: string): Field<T> =>
  s.field<T>({
    ...list.schema,
    "x-kubernetes-patch-strategy": "merge",
    ...(key === undefined ? {} : { "x-kubernetes-patch-merge-key": key }),
  });

/** An object that strategic merge patches replace whole. */
export const replacedInPatches = <T>({ schema }: Field<T, boolean>): Field<T> =>
  s.field<T>({ ...schema, "x-kubernetes-patch-strategy": "replace" });

/** One of several: a patch of kubectl drops the members that it does not name. Where it is a list, its items are. */
export const retainingKeys = <T>({ schema }: Field<T, boolean>): Field<T> => {
  const { "x-kubernetes-patch-strategy": strategy } = schema;
  return s.field<T>({
    ...schema,
    "x-kubernetes-patch-strategy": strategy === undefined ? "retainKeys" : `${strategy},retainKeys`,
  });
};

export const ageColumn: PrinterColumn = {
  name: "Age",
  type: "date",
  description: "The time since the server created the object.",
  value: ".metadata.creationTimestamp",
};

/** The time itself, for kinds whose age says little. */
export const createdAtColumn: PrinterColumn = {
  name: "Created At",
  type: "string",
  description: "When the server created the object.",
  value: ".metadata.creationTimestamp",
};

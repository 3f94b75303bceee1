// Common parts of all built-in kinds: strategic merge patch, no generation, and the ways their lists are merged.

import { type Field, s } from "@postern/apimachinery/schema/builder";
import {
  defineResource,
  type PrinterColumn,
  type ResourceDefinition,
} from "@postern/apiserver/registry/resource-definition";
import { UPSTREAM_COLUMNS } from "./upstream-columns.ts";

export const ageColumn: PrinterColumn = {
  name: "Age",
  type: "date",
  description: "The time since the server created the object.",
  value: ".metadata.creationTimestamp",
};

export const defineBuiltin = (definition: ResourceDefinition): ResourceDefinition =>
  defineResource({
    strategicMergePatch: true,
    tracksGeneration: false,
    ...definition,
    ...describedColumns(definition),
  });

/** Descriptions, formats and priorities of columns are upstream's: clients may show the descriptions, and choose columns by priority. */
function describedColumns({
  group,
  plural,
  columns = [ageColumn],
  hasOwnNameColumn = false,
}: ResourceDefinition): Pick<ResourceDefinition, "columns"> {
  const upstream = UPSTREAM_COLUMNS.get(group === "" ? plural : `${plural}.${group}`);
  if (upstream === undefined) return {};
  const described = columns.flatMap((column): readonly PrinterColumn[] => {
    const found = upstream.find(([name]) => name.toLowerCase() === column.name.toLowerCase());
    if (found === undefined) return [];
    const [name, type, format, priority, description] = found;
    return [{ ...column, name, priority, shown: { name, type, format, description, priority } }];
  });
  const placeOf = ({ name }: PrinterColumn): number => upstream.findIndex(([other]) => other === name);
  return { columns: hasOwnNameColumn ? described : described.toSorted((a, b) => placeOf(a) - placeOf(b)) };
}

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

/** The time itself, for kinds whose age says little. */
export const createdAtColumn: PrinterColumn = {
  name: "Created At",
  type: "string",
  description: "When the server created the object.",
  value: ".metadata.creationTimestamp",
};

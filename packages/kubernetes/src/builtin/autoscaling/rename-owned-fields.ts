// Renames the one field of managedFields whose name differs between the versions.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject, ManagedFieldsEntry } from "@postern/apimachinery/meta/object-meta";
import { objectAt } from "./convert-scaler-metrics.ts";

export function withManagedFields(
  metadata: KubeObject["metadata"],
  apiVersion: string,
  convert: (set: JsonObject) => JsonObject,
): KubeObject["metadata"] {
  const { managedFields } = metadata;
  if (managedFields === undefined) return metadata;
  const entryIn = (entry: ManagedFieldsEntry): ManagedFieldsEntry => ({
    ...entry,
    apiVersion,
    ...(isJsonObject(entry.fieldsV1) ? { fieldsV1: convert(entry.fieldsV1) } : {}),
  });
  return { ...metadata, managedFields: managedFields.map(entryIn) };
}

export function renamedField(set: JsonObject, from: string, to: string): JsonObject {
  const spec = objectAt(set, "f:spec");
  const owned = spec?.[from];
  if (spec === undefined || owned === undefined) return set;
  const { [from]: _, ...others } = spec;
  return { ...set, "f:spec": { ...others, [to]: {} } };
}

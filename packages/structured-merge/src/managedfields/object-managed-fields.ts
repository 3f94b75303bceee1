// Takes the managed fields off an object, and puts them on again.

import { equalJson, equalObjects } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject, ManagedFieldsEntry } from "@postern/apimachinery/meta/object-meta";

/** An object as the JSON it is. */
export const jsonOf = (object: KubeObject): JsonValue => object as JsonValue; // only its named types hide it

/** Unchecked, as the client has sent them: the types of object metadata hold for stored objects only. */
export const rawManagedFields = (object: KubeObject): JsonValue | undefined =>
  object.metadata.managedFields as JsonValue | undefined; // entries are JSON

export function withoutManagedFields(object: KubeObject): KubeObject {
  if (!("managedFields" in object.metadata)) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** `object` must have none yet. */
export function withManagedFields(
  object: KubeObject,
  managedFields: readonly ManagedFieldsEntry[] | undefined,
): KubeObject {
  return managedFields === undefined ? object : { ...object, metadata: { ...object.metadata, managedFields } };
}

/** `[{}]` is how a client asks for all managed fields to be dropped. An empty list or null leaves them as they are. */
export function isReset(managedFields: JsonValue | undefined): boolean {
  if (!isJsonArray(managedFields) || managedFields.length !== 1) return false;
  const [entry] = managedFields;
  return (
    isJsonObject(entry) && Object.values(entry).every((value) => value === undefined || value === null || value === "")
  );
}

/**
 * `next` with the times of `live` when nothing but times differs, so that a write that changes nothing is none.
 * Source: k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager/equality.go
 */
export function keepTimesOfNoop(live: KubeObject, next: KubeObject): KubeObject {
  // Most writes change something.
  if (!equalButFor("managedFields", live, next)) return next;
  const before = rawManagedFields(live);
  const after = rawManagedFields(next);
  if (equalJson(timesOf(before), timesOf(after)) || !equalJson(withoutTimes(before), withoutTimes(after))) return next;
  return withManagedFields(withoutManagedFields(next), live.metadata.managedFields);
}

/** Whether two objects are the same but for a member of their metadata. */
export const equalButFor = (member: "managedFields" | "resourceVersion", a: KubeObject, b: KubeObject): boolean =>
  equalObjects(a, b, "metadata") && equalObjects(a.metadata, b.metadata, member);

/** Managers and times, in the order of the entries: two objects with the same have no time to keep. */
const timesOf = (managedFields: JsonValue | undefined): JsonValue[] =>
  isJsonArray(managedFields)
    ? managedFields.map((entry) => [identityOf(entry), isJsonObject(entry) ? (entry["time"] ?? null) : null])
    : [];

/** The entries in an order that does not depend on their times. */
function withoutTimes(managedFields: JsonValue | undefined): JsonValue[] {
  if (!isJsonArray(managedFields)) return [];
  return managedFields
    .map((entry) => (isJsonObject(entry) ? { ...entry, time: undefined } : entry))
    .sort((a, b) => (identityOf(a) < identityOf(b) ? -1 : 1));
}

function identityOf(entry: JsonValue): string {
  const { manager, operation, apiVersion, subresource }: JsonObject = isJsonObject(entry) ? entry : {};
  return JSON.stringify([operation, manager, apiVersion, subresource]);
}

// The JSON data model that every Kubernetes object is made of, read-only by type.

/** A JSON scalar. Integers outside ±2^53 are `bigint`, so that int64 fields survive exactly. */
export type JsonPrimitive = string | number | bigint | boolean | null;

/** Any JSON value. Values are never changed in place: code that edits builds a new value. */
export type JsonValue = JsonPrimitive | JsonArray | JsonObject;

export type JsonArray = readonly JsonValue[];

/** A JSON object. `undefined` stands for an absent member and is never written out. */
export type JsonObject = { readonly [member: string]: JsonValue | undefined };

/** True for a JSON object, false for arrays, scalars, null and undefined. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True for a JSON array. `Array.isArray` alone does not narrow read-only arrays. */
export function isJsonArray(value: JsonValue | undefined): value is JsonArray {
  return Array.isArray(value);
}

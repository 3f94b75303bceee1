// The JSON data model of Kubernetes objects, read-only by type.

/** A JSON scalar. Integers outside ±2^53 are `bigint`, so that int64 fields survive exactly. */
export type JsonPrimitive = string | number | bigint | boolean | null;

/** Any JSON value. Values are never changed in place: code that edits builds a new value. */
export type JsonValue = JsonPrimitive | JsonArray | JsonObject;

export type JsonArray = readonly JsonValue[];

/** A JSON object. `undefined` means an absent member, and is never written. */
export type JsonObject = { readonly [member: string]: JsonValue | undefined };

/** True for a JSON object, false for arrays, scalars, null and undefined. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True for a JSON array. `Array.isArray` alone does not narrow read-only arrays. */
export function isJsonArray(value: JsonValue | undefined): value is JsonArray {
  return Array.isArray(value);
}

/** As Go names values, such as `array` in `json: cannot unmarshal array into …`. Source: encoding/json (UnmarshalTypeError) */
export function goKindOf(value: JsonValue): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}

/** A JSON object that its maker still fills. */
export type MutableJsonObject = { [member: string]: JsonValue | undefined };

/** Sets an own member. A plain assignment to `__proto__` would change the object's prototype instead. */
export function setMember(object: MutableJsonObject, name: string, value: JsonValue | undefined): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  } else object[name] = value;
}

/** Reads an own member; undefined for what only the prototype has, such as `constructor`. */
export function getMember(object: { readonly [member: string]: JsonValue | undefined }, name: string) {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

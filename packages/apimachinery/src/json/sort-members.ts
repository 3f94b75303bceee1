// Orders the members of objects by name, as Go writes its maps.

import { isJsonArray, isJsonObject, type JsonValue } from "./json-value.ts";

/** The same value with the members of every object in byte order. */
export function withSortedMembers(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(withSortedMembers);
  if (!isJsonObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, withSortedMembers(value[name] ?? null)]));
}

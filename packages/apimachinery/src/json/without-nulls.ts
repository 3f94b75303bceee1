// A value without the members that are null.

import { isJsonArray, isJsonObject, type JsonValue, type MutableJsonObject, setMember } from "./json-value.ts";

/** Elements of arrays stay, even null ones. */
export function withoutNulls(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const kept: MutableJsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined && member !== null) setMember(kept, name, withoutNulls(member));
  }
  return kept;
}

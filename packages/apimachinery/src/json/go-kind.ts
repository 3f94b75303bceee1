// Names JSON values as Go's decoder does in its refusals.
// Source: encoding/json (UnmarshalTypeError)

import type { JsonValue } from "./json-value.ts";

/** Such as `array` in `json: cannot unmarshal array into …`. */
export function goKindOf(value: JsonValue): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}

// Tells whether a value nests too deep for the recursive code that is to work on it.

import { isJsonArray, isJsonObject, type JsonValue } from "./json-value.ts";

/** Whether arrays and objects nest deeper than `maxDepth`. Its own recursion ends there. */
export function nestsDeeper(value: JsonValue | undefined, maxDepth: number): boolean {
  if (isJsonArray(value)) return maxDepth === 0 || value.some((item) => nestsDeeper(item, maxDepth - 1));
  if (!isJsonObject(value)) return false;
  if (maxDepth === 0) return true;
  for (const name of Object.keys(value)) if (nestsDeeper(value[name], maxDepth - 1)) return true;
  return false;
}

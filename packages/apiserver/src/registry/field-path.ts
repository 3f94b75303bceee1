// Reads a value at a simple dotted path, such as `.spec.replicas`.

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";

/** `.spec.replicas` → ["spec", "replicas"]. */
export const splitFieldPath = (path: string): readonly string[] => path.split(".").filter((part) => part !== "");

/** Undefined where the path leaves the object. */
export function valueAtPath(value: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  let at = value;
  for (const member of path) {
    if (!isJsonObject(at) || !Object.hasOwn(at, member)) return undefined;
    at = at[member];
  }
  return at;
}

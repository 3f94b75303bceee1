// Reads and sets a value at a simple dotted path, such as `.spec.replicas`.

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";

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

/** A copy with `value` at the path; objects on the way are made where they are missing. */
export function withValueAtPath(object: JsonObject, path: readonly string[], value: JsonValue): JsonObject {
  const [member, ...rest] = path;
  if (member === undefined) return object;
  const below = object[member];
  return {
    ...object,
    [member]: rest.length === 0 ? value : withValueAtPath(isJsonObject(below) ? below : {}, rest, value),
  };
}

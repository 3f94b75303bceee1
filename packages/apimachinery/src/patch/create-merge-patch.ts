// Creates the merge patch that turns one document into another.
// Source: github.com/evanphx/json-patch v4 merge.go (CreateMergePatch)

import { equalJson } from "../json/equal-json.ts";
import {
  getMember,
  isJsonArray,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
  setMember,
} from "../json/json-value.ts";

/** Documents between which no merge patch leads. */
export class MergePatchError extends Error {
  override readonly name = "MergePatchError";
}

/**
 * Patch to apply to `original` to get `modified`: changed members only, null for removed ones. For two arrays of
 * objects of one length it is an array of patches. A null member of `modified` cannot be distinguished from a removed one.
 * @throws MergePatchError when the two are not both objects or both such arrays
 */
export function createMergePatch(original: JsonValue, modified: JsonValue): JsonValue {
  if (isJsonArray(original) && isJsonArray(modified)) return diffArrays(original, modified);
  if (isJsonObject(original) && isJsonObject(modified)) return diffObjects(original, modified);
  throw new MergePatchError("Invalid JSON Document");
}

function diffArrays(original: JsonArray, modified: JsonArray): JsonArray {
  if (original.length !== modified.length) throw new MergePatchError("Invalid JSON Document");
  return original.map((element, i) => createMergePatch(element, modified[i] ?? null));
}

function diffObjects(original: JsonObject, modified: JsonObject): JsonObject {
  const patch: MutableJsonObject = {};
  for (const [name, after] of Object.entries(modified)) {
    if (after === undefined) continue;
    const before = getMember(original, name);
    if (isJsonObject(before) && isJsonObject(after)) {
      const nested = diffObjects(before, after);
      if (Object.keys(nested).length > 0) setMember(patch, name, nested);
    } else if (before === undefined || !equalJson(before, after)) setMember(patch, name, after);
  }
  for (const [name, before] of Object.entries(original)) {
    if (before !== undefined && getMember(modified, name) === undefined) setMember(patch, name, null);
  }
  return patch;
}

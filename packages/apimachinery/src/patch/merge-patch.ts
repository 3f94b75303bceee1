// JSON merge patch, RFC 7396, as the library of kube-apiserver applies it.
// Source: github.com/evanphx/json-patch v4 merge.go

import {
  getMember,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
  setMember,
} from "../json/json-value.ts";
import { withoutNulls } from "../json/without-nulls.ts";
import { cannotUnmarshal, parsePatch } from "./decode-json-patch.ts";
import { PatchDecodeError } from "./patch-errors.ts";

/**
 * Reads the body of a merge patch, which must be an object.
 * @throws PatchDecodeError
 */
export function decodeMergePatch(text: string): JsonObject {
  const patch = parsePatch(text);
  if (patch === null) throw new PatchDecodeError(BAD_PATCH);
  if (!isJsonObject(patch)) throw cannotUnmarshal(patch, "value of type map[string]interface {}");
  return patch;
}

/**
 * Reads the body of a strategic merge patch: an object, or null for one that changes nothing.
 * @throws PatchDecodeError
 */
export function decodeStrategicMergePatch(text: string): JsonObject {
  const patch = parsePatch(text, "") ?? {};
  if (!isJsonObject(patch)) throw cannotUnmarshal(patch, "value of type map[string]interface {}", "");
  return patch;
}

/**
 * Decodes a patch without a check for unknown and duplicate fields: an array, too, takes the place of the document.
 * @throws PatchDecodeError
 */
export function decodeMergePatchLoosely(text: string): JsonValue {
  const patch = parsedOrNothing(text);
  if (isJsonObject(patch) || isJsonArray(patch)) return patch;
  throw new PatchDecodeError(BAD_PATCH);
}

function parsedOrNothing(text: string): JsonValue | undefined {
  try {
    return parsePatch(text);
  } catch (error) {
    if (error instanceof PatchDecodeError) return undefined;
    throw error;
  }
}

const BAD_PATCH = "Invalid JSON Patch";

/**
 * The merged document; the inputs stay as they are. Values that the patch does not change are the same ones as before, the whole included. A null in
 * the patch removes a member, an array replaces an array whole, and what is new loses its null members, at any depth.
 */
export const applyMergePatch = (document: JsonValue, patch: JsonValue): JsonValue =>
  isJsonObject(patch) ? merge(document, patch) : withoutNulls(patch);

/** A value that replaces an object below the top keeps its null members. */
function merge(document: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return isJsonObject(document) ? patch : withoutNulls(patch);
  if (!isJsonObject(document)) return withoutNulls(patch);
  let merged: MutableJsonObject | undefined;
  for (const [name, change] of Object.entries(patch)) {
    if (change === undefined) continue;
    const before = getMember(document, name);
    if (change === null) {
      if (before === undefined) continue;
      merged ??= { ...document };
      delete merged[name];
    } else {
      const after = merge(before ?? undefined, change);
      if (after === before) continue;
      merged ??= { ...document };
      setMember(merged, name, after);
    }
  }
  return merged ?? document;
}

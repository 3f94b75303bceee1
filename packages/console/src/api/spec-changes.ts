// Builds specs and patches from forms: drops empty values, and computes the patch between two specs.

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";

/** Drops empty strings, lists and objects, `false` and undefined: for the API they mean the same as absent. */
export function withoutEmpty(value: { readonly [member: string]: JsonValue | undefined }): JsonObject {
  const kept = Object.entries(value).map(([name, member]) => [
    name,
    isJsonObject(member) ? withoutEmpty(member) : member,
  ]);
  return Object.fromEntries(kept.filter(([, member]) => !isEmpty(member as JsonValue | undefined)));
}

const isEmpty = (value: JsonValue | undefined): boolean =>
  value === undefined ||
  value === "" ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (isJsonObject(value) && Object.keys(value).length === 0);

/** A merge patch (RFC 7386): members that are only in `before` become null. Equal members are left out. */
export function mergePatchOf(before: JsonObject, after: JsonObject): JsonObject {
  const patch: { [member: string]: JsonValue } = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [one, other] = [before[name], after[name]];
    if (other === undefined) patch[name] = null;
    else if (isJsonObject(one) && isJsonObject(other)) {
      const inner = mergePatchOf(one, other);
      if (Object.keys(inner).length > 0) patch[name] = inner;
    } else if (JSON.stringify(one) !== JSON.stringify(other)) patch[name] = other;
  }
  return patch;
}

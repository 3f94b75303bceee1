// What a form makes of an object: a spec without what was left empty, and the patch from one spec to another.

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";

/** Without empty texts, lists and objects, without `false` and undefined: the API has the same meaning for them and for nothing. */
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

/** As RFC 7386 has it: what `before` has and `after` has not is null. Members that both have alike are left out. */
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

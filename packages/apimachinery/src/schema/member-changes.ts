// Changes members of an object, copying it once.

import { type JsonObject, type JsonValue, type MutableJsonObject, setMember } from "../json/json-value.ts";

/** New values by member name; `undefined` drops the member. */
export type MemberChanges = Map<string, JsonValue | undefined>;

/** The same object when nothing changes. Members keep their place, new ones come last. */
export function withMemberChanges(object: JsonObject, changes: MemberChanges | undefined): JsonObject {
  if (changes === undefined || changes.size === 0) return object;
  const changed: MutableJsonObject = {};
  for (const name of Object.keys(object)) {
    const member = changes.has(name) ? changes.get(name) : object[name];
    if (member !== undefined) setMember(changed, name, member);
  }
  for (const [name, member] of changes) {
    if (member !== undefined && !Object.hasOwn(object, name)) setMember(changed, name, member);
  }
  return changed;
}

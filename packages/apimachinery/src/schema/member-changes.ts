// Edits an object by copying it once, however many members change.

import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { type MutableJsonObject, setMember } from "../json/set-member.ts";

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

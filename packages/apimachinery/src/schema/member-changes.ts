// Edits an object by copying it once, however many members change.

import type { JsonObject, JsonValue } from "../json/json-value.ts";

/** New values by member name; `undefined` drops the member. */
export type MemberChanges = Map<string, JsonValue | undefined>;

/** The same object when nothing changes. Members keep their place, new ones come last. */
export function withMemberChanges(object: JsonObject, changes: MemberChanges | undefined): JsonObject {
  if (changes === undefined || changes.size === 0) return object;
  const members: [string, JsonValue][] = [];
  for (const [name, member] of Object.entries(object)) {
    const changed = changes.has(name) ? changes.get(name) : member;
    if (changed !== undefined) members.push([name, changed]);
  }
  for (const [name, member] of changes) {
    if (member !== undefined && !Object.hasOwn(object, name)) members.push([name, member]);
  }
  // fromEntries defines members, so that a member named __proto__ stays data.
  return Object.fromEntries(members);
}

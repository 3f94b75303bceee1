// Writes a member of an object under construction without ever reaching a prototype.

import type { JsonValue } from "./json-value.ts";

/** A JSON object that its maker still fills. */
export type MutableJsonObject = { [member: string]: JsonValue | undefined };

/** Sets an own member. A plain assignment to `__proto__` would change the object's prototype instead. */
export function setMember(object: MutableJsonObject, name: string, value: JsonValue | undefined): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  } else object[name] = value;
}

/** Reads an own member; undefined for what only the prototype has, such as `constructor`. */
export function getMember(object: { readonly [member: string]: JsonValue | undefined }, name: string) {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

// Reads members of responses whose shape is not guaranteed.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";

/** Empty without such an object. */
export function objectAt(value: JsonValue | undefined, name: string): JsonObject {
  const member = isJsonObject(value) ? value[name] : undefined;
  return isJsonObject(member) ? member : {};
}

/** "" without such a string. */
export function textAt(value: JsonValue | undefined, name: string): string {
  const member = isJsonObject(value) ? value[name] : undefined;
  return typeof member === "string" ? member : "";
}

/** The value of an access key. "" for what can be none: a line break would make further variables of it where a program writes it. */
export function accessKeyAt(value: JsonValue | undefined, name: string): string {
  const text = textAt(value, name);
  return /^[!-~]+$/.test(text) ? text : "";
}

/** Empty without such a list. */
export function listAt(value: JsonValue | undefined, name: string): readonly JsonValue[] {
  const member = isJsonObject(value) ? value[name] : undefined;
  return isJsonArray(member) ? member : [];
}

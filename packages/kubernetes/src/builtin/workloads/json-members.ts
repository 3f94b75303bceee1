// Members of parts that the schema keeps as they are: their values may be of any type, and one of another type counts as absent.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";

const NOTHING: JsonObject = {};

export const objectAt = (value: JsonValue | undefined, name: string): JsonObject =>
  optionalObjectAt(value, name) ?? NOTHING;

export function optionalObjectAt(value: JsonValue | undefined, name: string): JsonObject | undefined {
  const member = isJsonObject(value) ? value[name] : undefined;
  return isJsonObject(member) ? member : undefined;
}

export function listAt(value: JsonValue | undefined, name: string): readonly JsonValue[] {
  const member = isJsonObject(value) ? value[name] : undefined;
  return isJsonArray(member) ? member : [];
}

export const textAt = (value: JsonValue | undefined, name: string): string => optionalTextAt(value, name) ?? "";

export function optionalTextAt(value: JsonValue | undefined, name: string): string | undefined {
  const member = isJsonObject(value) ? value[name] : undefined;
  return typeof member === "string" ? member : undefined;
}

export function numberAt(value: JsonValue | undefined, name: string): number | undefined {
  const member = isJsonObject(value) ? value[name] : undefined;
  return typeof member === "number" ? member : undefined;
}

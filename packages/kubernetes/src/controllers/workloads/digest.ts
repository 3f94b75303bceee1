// Digests of JSON values: equal values have the same one, whatever the order of their members. And one order for all.

import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";

/** With all members in one order, so that the same value has one text. */
export function inOrder(value: JsonValue | undefined): unknown {
  if (Array.isArray(value)) return value.map((item: JsonValue) => inOrder(item));
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value as JsonObject)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, inOrder(member)]);
}

/** The same value, with the members of each object in the order of their names. */
export function inOrderOfNames(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item: JsonValue) => inOrderOfNames(item));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value as JsonObject).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    members.flatMap(([name, member]) => (member === undefined ? [] : [[name, inOrderOfNames(member)]])),
  );
}

export const digestOf = (value: JsonValue | undefined): string =>
  createHash("sha256")
    .update(JSON.stringify(inOrder(value)) ?? "")
    .digest("base64");

// Compares JSON values by meaning.

import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "./json-value.ts";

/** Deep equality. Member order does not matter, absent and `undefined` members are the same, 1 equals 1n. */
export function equalJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (isJsonArray(a)) return isJsonArray(b) && equalArrays(a, b);
  if (isJsonObject(a)) return isJsonObject(b) && equalObjects(a, b);
  if (typeof a === "bigint" && typeof b === "number") return a === toBigInt(b);
  if (typeof a === "number" && typeof b === "bigint") return b === toBigInt(a);
  return false;
}

const toBigInt = (value: number): bigint | undefined => (Number.isInteger(value) ? BigInt(value) : undefined);

function equalArrays(a: JsonArray, b: JsonArray): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!equalJson(a[i], b[i])) return false;
  return true;
}

/** The same for two objects. Their members of the name `but` may differ: a copy without it would take longer than the comparison. */
export function equalObjects(a: JsonObject, b: JsonObject, but?: string): boolean {
  if (a === b) return true;
  let members = 0;
  for (const name of Object.keys(a)) {
    const value = a[name];
    if (value === undefined || name === but) continue;
    members++;
    if (!Object.hasOwn(b, name) || !equalJson(value, b[name])) return false;
  }
  for (const name of Object.keys(b)) if (b[name] !== undefined && name !== but) members--;
  return members === 0;
}

// Writes JSON text, including integers that JavaScript numbers cannot represent.

import type { Steps } from "../steps/steps.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "./json-value.ts";

/**
 * Compact JSON. Same as `JSON.stringify` but for `bigint`, which is written as a bare integer.
 * The native path is taken first: objects with a `bigint` are rare and pay for a second pass.
 */
export function stringifyJson(value: JsonValue): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return stringifyExact(value);
  }
}

function stringifyExact(value: JsonValue): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => stringifyExact(item)).join(",")}]`;
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${stringifyExact(member as JsonValue)}`);
  }
  return `{${members.join(",")}}`;
}

/** Elements of an array that are written in one step. */
const ELEMENTS_PER_STEP = 500;

/** The same text for a value with long arrays near its root. The elements of these are written in steps. */
export function* stringifyJsonInSteps(value: JsonValue): Steps<string> {
  if (isJsonArray(value)) {
    if (value.length <= ELEMENTS_PER_STEP) return stringifyJson(value);
    const parts: string[] = [];
    for (let at = 0; at < value.length; at += ELEMENTS_PER_STEP) {
      parts.push(stringifyJson(value.slice(at, at + ELEMENTS_PER_STEP)).slice(1, -1));
      yield;
    }
    return `[${parts.join(",")}]`;
  }
  if (!isJsonObject(value)) return stringifyJson(value);
  const members: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${yield* stringifyJsonInSteps(member)}`);
  }
  return `{${members.join(",")}}`;
}

// Orders the members of objects by name, as Go writes its maps.

/** The same value with the members of every object in byte order. */
export function withSortedMembers(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(withSortedMembers);
  if (!isJsonObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, withSortedMembers(value[name] ?? null)]));
}

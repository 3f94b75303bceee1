// Writes JSON text, including integers that JavaScript numbers cannot represent.

import { StepPace, type Steps } from "../steps/steps.ts";
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

/** Values of all levels that are written in one step. */
const VALUES_PER_STEP = 2_000;
/** A value with fewer is written at once, with the next one. */
const SMALL = 500;

/** The same text, written in steps where the value is large. */
export const stringifyJsonInSteps = (value: JsonValue): Steps<string> =>
  writeInSteps(value, new StepPace(VALUES_PER_STEP));

function* writeInSteps(value: JsonValue, pace: StepPace): Steps<string> {
  const parts: string[] = [];
  if (isJsonArray(value)) {
    let run: JsonValue[] = [];
    for (const element of value) {
      const size = countValues(element);
      if (size >= SMALL) {
        if (run.length > 0) parts.push(contentOf(run));
        run = [];
        parts.push(yield* writeInSteps(element, pace));
      } else {
        run.push(element);
        if (!pace.isOver(size)) continue;
        parts.push(contentOf(run));
        run = [];
        yield;
      }
    }
    if (run.length > 0) parts.push(contentOf(run));
    return `[${parts.join(",")}]`;
  }
  if (!isJsonObject(value)) return stringifyJson(value);
  let run: [string, JsonValue][] = [];
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const size = countValues(member);
    if (size >= SMALL) {
      if (run.length > 0) parts.push(contentOf(Object.fromEntries(run)));
      run = [];
      parts.push(`${JSON.stringify(name)}:${yield* writeInSteps(member, pace)}`);
    } else {
      run.push([name, member]);
      if (!pace.isOver(size)) continue;
      parts.push(contentOf(Object.fromEntries(run)));
      run = [];
      yield;
    }
  }
  if (run.length > 0) parts.push(contentOf(Object.fromEntries(run)));
  return `{${parts.join(",")}}`;
}

/** Without the brackets around it. */
const contentOf = (value: JsonValue): string => stringifyJson(value).slice(1, -1);

/** Values of all levels, as far as `SMALL`. */
function countValues(value: JsonValue | undefined, most = SMALL): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  for (const member of Object.values(value)) {
    count += countValues(member, most - count);
    if (count >= most) break;
  }
  return count;
}

/** The same value with the members of every object in byte order, as Go writes its maps. */
export function withSortedMembers(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(withSortedMembers);
  if (!isJsonObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, withSortedMembers(value[name] ?? null)]));
}

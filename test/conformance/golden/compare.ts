// Holds an answer against the recorded one, at three levels: 1 the status, 2 what programs read, 3 what people read.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { Placeholders } from "./placeholders.ts";

export type Level = 1 | 2 | 3;

export type Difference = {
  /** The lowest level at which the answers differ. */
  readonly level: Level;
  readonly path: string;
  readonly recorded: JsonValue | undefined;
  readonly actual: JsonValue | undefined;
};

/** A value that is absent to one encoder is empty to another. */
function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (isJsonArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/** Lists whose order says nothing, with what their items are ordered by before they are compared. */
const UNORDERED: { readonly [member: string]: (item: JsonObject) => string } = {
  managedFields: ({ manager, operation, subresource }) => JSON.stringify([manager, operation, subresource]),
  causes: ({ field, reason, message }) => JSON.stringify([field, reason, message]),
};

export function compareValues(
  recorded: JsonValue | undefined,
  actual: JsonValue | undefined,
  placeholders: Placeholders,
  path = "",
  level: Level = 2,
): readonly Difference[] {
  const differs = [{ level, path, recorded, actual }];
  if (isJsonObject(recorded)) {
    return isJsonObject(actual) ? compareObjects(recorded, actual, placeholders, path, level) : differs;
  }
  if (isJsonArray(recorded)) {
    if (!isJsonArray(actual) || actual.length !== recorded.length) return differs;
    const [left, right] = inComparableOrder(path, recorded, actual);
    return left.flatMap((item, index) => compareValues(item, right[index], placeholders, `${path}[${index}]`, level));
  }
  if (typeof recorded !== "string") return recorded === actual ? [] : differs;
  if (typeof actual !== "string") return differs;
  if (placeholders.matches(recorded, actual)) return [];
  return path.endsWith("message") && sameErrors(recorded, actual) ? [] : differs;
}

function compareObjects(
  recorded: JsonObject,
  actual: JsonObject,
  placeholders: Placeholders,
  path: string,
  level: Level,
): readonly Difference[] {
  const names = new Set([...Object.keys(recorded), ...Object.keys(actual)]);
  return [...names].flatMap((name) => {
    const [left, right] = [recorded[name], actual[name]];
    if (left === undefined || right === undefined ? isEmpty(left) && isEmpty(right) : false) return [];
    return compareValues(left ?? null, right, placeholders, `${path}.${name}`, name === "message" ? 3 : level);
  });
}

function inComparableOrder(path: string, recorded: readonly JsonValue[], actual: readonly JsonValue[]) {
  const keyOf = UNORDERED[path.slice(path.lastIndexOf(".") + 1)];
  if (keyOf === undefined) return [recorded, actual] as const;
  const sorted = (items: readonly JsonValue[]) =>
    items.filter(isJsonObject).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return [sorted(recorded), sorted(actual)] as const;
}

/** Several errors of one message come in any order. */
const sameErrors = (recorded: string, actual: string): boolean => words(recorded) === words(actual);

const words = (message: string): string =>
  message
    .split(/[[\], \n]+/)
    .toSorted()
    .join(" ");

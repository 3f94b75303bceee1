// Applies a SCIM PATCH to a resource.
// Source: RFC 7644 section 3.5.2

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { memberName, parseFilter, ScimFilterError, stepsOf, withoutSchema } from "./scim-filter.ts";

const MAX_OPERATIONS = 1_000;
/** Maximum of operations times values of a resource: 1,000 members may be added or removed by one operation each. */
const MAX_WORK = 1_000_000;

/** Other requests get a turn after each operation. Throws ScimFilterError for invalid operations, and for those that would take too long. */
export function* applyPatch(resource: JsonObject, patch: JsonObject): Steps<JsonObject> {
  const operations = patch[memberName(patch, "Operations") ?? ""];
  if (!isJsonArray(operations) || operations.length > MAX_OPERATIONS)
    throw new ScimFilterError("Operations are missing");
  let current = resource;
  let work = 0;
  for (const operation of operations) {
    work += longestListOf(current);
    if (work > MAX_WORK) throw new ScimFilterError("too many operations on so many values: send fewer at a time");
    current = applyOperation(current, operation);
    yield;
  }
  return current;
}

const longestListOf = (resource: JsonObject): number =>
  Math.max(0, ...Object.values(resource).map((value) => (isJsonArray(value) ? value.length : 0)));

function applyOperation(resource: JsonObject, operation: JsonValue): JsonObject {
  if (!isJsonObject(operation)) throw new ScimFilterError("an operation must be an object");
  const { op, path, value } = operation;
  const verb = typeof op === "string" ? op.toLowerCase() : "";
  if (!["add", "replace", "remove"].includes(verb)) throw new ScimFilterError("op must be add, replace or remove");
  if (path === undefined || path === "") {
    if (!isJsonObject(value) || verb === "remove") throw new ScimFilterError("without a path, value must be an object");
    return Object.entries(value).reduce<JsonObject>(
      // Some directories send paths as names.
      (made, [name, member]) => (member === undefined ? made : changeAt(made, name, verb, member)),
      resource,
    );
  }
  if (typeof path !== "string" || path.length > 1_000) throw new ScimFilterError("path must be a string");
  return changeAt(resource, path, verb, value);
}

function changeAt(resource: JsonObject, path: string, verb: string, value: JsonValue | undefined): JsonObject {
  const open = path.indexOf("[");
  if (open >= 0) {
    const close = path.lastIndexOf("]");
    if (close < open) throw new ScimFilterError("a bracket is not closed");
    return changeSome(
      resource,
      withoutSchema(path.slice(0, open)),
      path.slice(open + 1, close),
      path.slice(close + 2),
      verb,
      value,
    );
  }
  const [first = "", ...rest] = stepsOf(path);
  const name = memberName(resource, first) ?? first;
  const before = resource[name];
  if (rest.length > 0) {
    const inner = changeAt(isJsonObject(before) ? before : {}, rest.join("."), verb, value);
    return { ...resource, [name]: inner };
  }
  if (verb === "remove") return removed(resource, name, before, value);
  const given = value ?? null;
  if (!isJsonArray(before)) return { ...resource, [name]: given };
  // Multi-valued attributes are stored as lists, also if a single value is sent.
  const values = isJsonArray(given) ? given : given === null ? [] : [given];
  return { ...resource, [name]: verb === "add" ? union(before, values) : values };
}

/** Entra ID sends the values to remove in `value`, not in the path. */
function removed(
  resource: JsonObject,
  name: string,
  before: JsonValue | undefined,
  value: JsonValue | undefined,
): JsonObject {
  if (isJsonArray(before) && isJsonArray(value)) {
    const gone = new Set(value.map(identityOf));
    return { ...resource, [name]: before.filter((entry) => !gone.has(identityOf(entry))) };
  }
  const { [name]: _, ...others } = resource;
  return others;
}

function changeSome(
  resource: JsonObject,
  attribute: string,
  filterText: string,
  below: string,
  verb: string,
  value: JsonValue | undefined,
): JsonObject {
  const name = memberName(resource, attribute) ?? attribute;
  const before = resource[name];
  const entries = isJsonArray(before) ? before : [];
  const filter = parseFilter(filterText);
  const isChosen = (entry: JsonValue): boolean => isJsonObject(entry) && filter(entry);
  if (verb === "remove" && below === "") return { ...resource, [name]: entries.filter((entry) => !isChosen(entry)) };
  const change = (entry: JsonObject): JsonObject =>
    below === "" ? { ...entry, ...(isJsonObject(value) ? value : {}) } : changeAt(entry, below, verb, value);
  if (!entries.some(isChosen) && verb !== "remove") {
    // Creates the value that the filter describes, as Entra ID expects for emails[type eq "work"].value.
    const [, key = "", wanted = ""] = /^(\w+) eq "([^"\\]*)"$/i.exec(filterText) ?? [];
    return { ...resource, [name]: [...entries, change(key === "" ? {} : { [key]: wanted })] };
  }
  return {
    ...resource,
    [name]: entries.map((entry) => (isJsonObject(entry) && filter(entry) ? change(entry) : entry)),
  };
}

function union(before: readonly JsonValue[], added: readonly JsonValue[]): readonly JsonValue[] {
  const known = new Set(before.map(identityOf));
  return [...before, ...added.filter((entry) => !known.has(identityOf(entry)))];
}

/** Members of groups are identified by their value only. */
const identityOf = (entry: JsonValue): string => {
  const value = isJsonObject(entry) ? entry["value"] : entry;
  return typeof value === "string" ? value : JSON.stringify(entry);
};

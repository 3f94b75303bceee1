// Applies a SCIM PATCH to a resource.
// Source: RFC 7644 section 3.5.2

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { ScimFault } from "./scim-fault.ts";
import { memberName, parseFilter, stepsOf, withoutSchema } from "./scim-filter.ts";
import { type ScimTypeName, withTypedValues } from "./scim-values.ts";

const MAX_OPERATIONS = 1_000;
const MAX_PATH_LENGTH = 1_000;
/** An attribute of an extension has two. */
const MAX_PATH_STEPS = 5;
/** Resources of directories have about twenty. Changes copy the object, and look for names in any case. */
const MAX_NAMES = 100;
/** Values of the resource that one change may copy and compare. They are done in one turn. */
const MAX_CHANGE_WORK = 400_000;
/** The same for all changes: 1,000 members may be added or removed by one operation each. */
const MAX_WORK = 3_300_000;

/** Other requests get a turn after each change. Throws ScimFault for invalid operations, and for those that would take too long. */
export function* applyPatch(type: ScimTypeName, resource: JsonObject, patch: JsonObject): Steps<JsonObject> {
  const operations = patch[memberName(patch, "Operations") ?? ""];
  if (!isJsonArray(operations)) throw new ScimFault(400, "Operations are missing", "invalidSyntax");
  if (operations.length > MAX_OPERATIONS)
    throw new ScimFault(413, `Operations must have at most ${MAX_OPERATIONS} items`, "tooMany");
  let current = resource;
  let total = 0;
  for (const operation of operations) {
    for (const { path, verb, value } of changesOf(operation)) {
      const work = sizeOf(current) * (1 + comparisonsIn(path) / 2);
      total += work;
      if (work > MAX_CHANGE_WORK || total > MAX_WORK)
        throw new ScimFault(400, "too many changes of so many values: send fewer at a time", "tooMany");
      current = changeAt(current, path, verb, value);
      yield;
    }
    // A later operation does not make up for an invalid value.
    current = withTypedValues(type, current);
    yield;
  }
  return current;
}

/** The value and all values in it. Throws ScimFault for objects with too many names. */
function sizeOf(value: JsonValue | undefined): number {
  if (typeof value !== "object" || value === null) return 1;
  let size = 1;
  for (const inner of isJsonArray(value) ? value : valuesOf(value)) size += sizeOf(inner);
  return size;
}

function valuesOf(object: JsonObject): readonly (JsonValue | undefined)[] {
  const values = Object.values(object);
  if (values.length > MAX_NAMES)
    throw new ScimFault(400, `an object must have at most ${MAX_NAMES} attributes`, "tooMany");
  return values;
}

/** At least as many as the filter in the path has. */
const comparisonsIn = (path: string): number => (path.includes("[") ? path.split(/ (?:and|or) /i).length : 0);

type Change = { readonly path: string; readonly verb: string; readonly value: JsonValue | undefined };

/** An operation without a path has a change for each of its attributes. */
function changesOf(operation: JsonValue): readonly Change[] {
  if (!isJsonObject(operation)) throw new ScimFault(400, "an operation must be an object", "invalidSyntax");
  const member = (name: string): JsonValue | undefined => operation[memberName(operation, name) ?? ""];
  const [op, path, value] = [member("op"), member("path"), member("value")];
  const verb = typeof op === "string" ? op.toLowerCase() : "";
  if (!["add", "replace", "remove"].includes(verb))
    throw new ScimFault(400, "op must be add, replace or remove", "invalidSyntax");
  if (path === undefined || path === null || path === "") {
    if (verb === "remove") throw new ScimFault(400, "path must name what to remove", "noTarget");
    if (!isJsonObject(value)) throw new ScimFault(400, "without a path, value must be an object", "invalidValue");
    valuesOf(value);
    // Some directories send paths as names.
    return Object.entries(value).map(([name, each]) => ({ path: checkedPath(name), verb, value: each ?? null }));
  }
  const checked = checkedPath(path);
  if (value === undefined && verb !== "remove") throw new ScimFault(400, "value is missing", "invalidValue");
  return [{ path: checked, verb, value }];
}

function checkedPath(path: JsonValue): string {
  if (typeof path === "string" && path.length <= MAX_PATH_LENGTH) return path;
  throw new ScimFault(400, `path must be a string of at most ${MAX_PATH_LENGTH} characters`, "invalidPath");
}

function changeAt(resource: JsonObject, path: string, verb: string, value: JsonValue | undefined): JsonObject {
  const open = path.indexOf("[");
  if (open >= 0) {
    const close = path.lastIndexOf("]");
    if (close < open) throw new ScimFault(400, "a bracket in path is not closed", "invalidPath");
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
  if (rest.length >= MAX_PATH_STEPS) throw new ScimFault(400, "path has too many steps", "invalidPath");
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
  if (isJsonArray(before) && value !== undefined && value !== null) {
    const gone = new Set((isJsonArray(value) ? value : [value]).map(identityOf));
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

// What a PATCH of SCIM makes of a resource.
// Source: RFC 7644 section 3.5.2

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { memberName, parseFilter, ScimFilterFault, stepsOf, withoutSchema } from "./scim-filter.ts";

const MAX_OPERATIONS = 1_000;

/** Throws ScimFilterFault for what cannot be read. */
export function applyPatch(resource: JsonObject, patch: JsonObject): JsonObject {
  const operations = patch[memberName(patch, "Operations") ?? ""];
  if (!isJsonArray(operations) || operations.length > MAX_OPERATIONS)
    throw new ScimFilterFault("Operations are missing");
  return operations.reduce<JsonObject>((current, operation) => {
    if (!isJsonObject(operation)) throw new ScimFilterFault("an operation is no object");
    const { op, path, value } = operation;
    const verb = typeof op === "string" ? op.toLowerCase() : "";
    if (!["add", "replace", "remove"].includes(verb)) throw new ScimFilterFault("op must be add, replace or remove");
    if (path === undefined || path === "") {
      if (!isJsonObject(value) || verb === "remove") throw new ScimFilterFault("without a path, value is an object");
      return Object.entries(value).reduce<JsonObject>(
        // Some send paths for names.
        (made, [name, member]) => (member === undefined ? made : changeAt(made, name, verb, member)),
        current,
      );
    }
    if (typeof path !== "string" || path.length > 1_000) throw new ScimFilterFault("path is no text");
    return changeAt(current, path, verb, value);
  }, resource);
}

function changeAt(resource: JsonObject, path: string, verb: string, value: JsonValue | undefined): JsonObject {
  const open = path.indexOf("[");
  if (open >= 0) {
    const close = path.lastIndexOf("]");
    if (close < open) throw new ScimFilterFault("a bracket is not closed");
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
  const adds = verb === "add" && isJsonArray(before);
  const given = value ?? null;
  return { ...resource, [name]: adds ? union(before, isJsonArray(given) ? given : [given]) : given };
}

/** Entra ID names the values to remove in the value, and not in the path. */
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
    // What the filter asks for is there from now on, as Entra ID expects of emails[type eq "work"].value.
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

/** Members of groups are told apart by their value alone. */
const identityOf = (entry: JsonValue): string => {
  const value = isJsonObject(entry) ? entry["value"] : entry;
  return typeof value === "string" ? value : JSON.stringify(entry);
};

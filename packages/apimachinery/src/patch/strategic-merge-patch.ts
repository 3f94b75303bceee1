// Strategic merge patch: a merge patch that also merges lists, by the merge keys in the schema.
// Source: k8s.io/apimachinery/pkg/util/strategicpatch/patch.go

import { equalJson } from "../json/equal-json.ts";
import {
  getMember,
  isJsonArray,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
  setMember,
} from "../json/json-value.ts";
import { stringifyJson } from "../json/stringify-json.ts";
import type { StructuralSchema } from "../schema/structural-schema.ts";
import { identity, orderLikePatch } from "./order-like-patch.ts";
import {
  DELETE_FROM_PRIMITIVE_LIST,
  isDirective,
  PATCH_DIRECTIVE,
  RETAIN_KEYS,
  SET_ELEMENT_ORDER,
  StrategicMergePatchError,
  withoutDirectives,
} from "./patch-directives.ts";

type Schema = StructuralSchema | undefined;

/**
 * Returns the merged document and does not change its inputs. Objects are merged. Lists are merged if the schema has
 * `x-kubernetes-patch-strategy: merge`, and replaced otherwise, as are lists that the schema does not have.
 * Directives: `$patch`, `$retainKeys`, `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`.
 * @throws StrategicMergePatchError: the response is 400
 */
export function applyStrategicMergePatch(document: JsonObject, patch: JsonObject, schema: Schema): JsonObject {
  return mergeObjects(document, patch, schema);
}

function mergeObjects(original: JsonObject, patch: JsonObject, schema: Schema): JsonObject {
  const directive = getMember(patch, PATCH_DIRECTIVE);
  if (directive === "replace") {
    const { [PATCH_DIRECTIVE]: _, ...rest } = patch;
    return rest;
  }
  if (directive === "delete") return {};
  if (directive !== undefined) throw badPatchType(directive, patch);

  const merged = retainKeys(original, patch);
  const ordered = mergeOrderedLists(merged, patch, schema);
  for (const [name, change] of Object.entries(patch)) {
    if (change === undefined || ordered.has(name)) continue;
    if (name.startsWith(DELETE_FROM_PRIMITIVE_LIST)) {
      deleteFromPrimitiveList(merged, name.slice(DELETE_FROM_PRIMITIVE_LIST.length), change);
    } else if (!isDirective(name)) mergeMember(merged, name, change, memberSchema(schema, name));
  }
  return merged;
}

function mergeMember(merged: MutableJsonObject, name: string, change: JsonValue, schema: Schema): void {
  const current = getMember(merged, name);
  if (change === null) delete merged[name];
  else if (isJsonObject(current) && isJsonObject(change)) {
    const replaces = strategyOf(schema) === "replace";
    setMember(merged, name, replaces ? change : mergeObjects(current, change, schema));
  } else if (isJsonArray(current) && isJsonArray(change)) {
    const merges = strategyOf(schema) === "merge";
    setMember(merged, name, merges ? mergeLists(current, change, schema) : change);
  } else setMember(merged, name, withoutDirectives(change));
}

/** The members of a map share one schema. */
function memberSchema(schema: Schema, name: string): Schema {
  const { properties, additionalProperties } = schema ?? {};
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

/** `merge`, `replace` or "". `retainKeys`, which may stand beside it, concerns clients: they send that directive. */
function strategyOf(schema: Schema): string {
  const strategies = (schema?.["x-kubernetes-patch-strategy"] ?? "").split(",");
  return strategies.find((strategy) => strategy !== "retainKeys") ?? "";
}

const mergeKeyOf = (schema: Schema): string => schema?.["x-kubernetes-patch-merge-key"] ?? "";

const badPatchType = (directive: JsonValue, patch: JsonObject): StrategicMergePatchError =>
  new StrategicMergePatchError(
    `unknown patch type: ${typeof directive === "string" ? directive : stringifyJson(directive)} in map: ${stringifyJson(patch)}`,
  );

/** A copy of the original with the members in `$retainKeys`; without that directive, with all. */
function retainKeys(original: JsonObject, patch: JsonObject): MutableJsonObject {
  const copy: MutableJsonObject = { ...original };
  const kept = getMember(patch, RETAIN_KEYS);
  if (kept === undefined) return copy;
  const malformed = () => new StrategicMergePatchError("invalid patch format of retainKeys");
  if (!isJsonArray(kept)) throw malformed();
  const names = new Set(kept);
  for (const [name, value] of Object.entries(patch)) {
    if (value !== undefined && value !== null && !isDirective(name) && !names.has(name)) throw malformed();
  }
  for (const name of Object.keys(copy)) if (!names.has(name)) delete copy[name];
  return copy;
}

/** Merges the lists that have a `$setElementOrder`, and returns their names. */
function mergeOrderedLists(merged: MutableJsonObject, patch: JsonObject, schema: Schema): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [directive, order] of Object.entries(patch)) {
    if (!directive.startsWith(SET_ELEMENT_ORDER)) continue;
    const name = directive.slice(SET_ELEMENT_ORDER.length);
    const current = getMember(merged, name);
    const change = getMember(patch, name);
    if (current === undefined && change === undefined) continue;
    if (!isJsonArray(order)) throw new StrategicMergePatchError("invalid patch format of setElementOrder list");
    const before = current === undefined ? [] : current;
    const changes = change === undefined ? [] : change;
    if (!isJsonArray(before) || !isJsonArray(changes)) {
      throw new StrategicMergePatchError(`expected a list in field ${name} because of its setElementOrder`);
    }
    const listSchema = memberSchema(schema, name);
    checkOrder(changes, order, mergeKeyOf(listSchema));
    const elements = mergeListsByStrategy(before, changes, listSchema, change);
    setMember(merged, name, orderLikePatch(elements, order, before, mergeKeyOf(listSchema)));
    names.add(name);
  }
  return names;
}

/** The items that the patch sets must come in the order of its `$setElementOrder`. */
function checkOrder(changes: JsonArray, order: JsonArray, mergeKey: string): void {
  const set = changes.filter((item) => !isJsonObject(item) || getMember(item, PATCH_DIRECTIVE) === undefined);
  if (set.length === 0 || order.length === 0) return;
  const identityOf = (item: JsonValue | undefined) =>
    mergeKey !== "" && item !== undefined && isJsonObject(item) ? keyOf(item, mergeKey) : item;
  let next = 0;
  for (const item of order) if (equalJson(identityOf(set[next]), identityOf(item))) next++;
  if (next < set.length) {
    throw new StrategicMergePatchError(
      `The order in patch list:\n${stringifyJson(changes)}\n doesn't match $setElementOrder list:\n${stringifyJson(order)}\n`,
    );
  }
}

function mergeListsByStrategy(
  before: JsonArray,
  changes: JsonArray,
  schema: Schema,
  change: JsonValue | undefined,
): JsonArray {
  if (change === undefined) return before;
  return strategyOf(schema) === "merge" ? mergeLists(before, changes, schema) : changes;
}

function deleteFromPrimitiveList(merged: MutableJsonObject, name: string, values: JsonValue): void {
  const current = getMember(merged, name);
  if (!isJsonArray(current) || !isJsonArray(values)) return;
  const deleted = new Set(values.map((value) => identity(value)));
  setMember(
    merged,
    name,
    current.filter((element) => !deleted.has(identity(element))),
  );
}

function mergeLists(original: JsonArray, patch: JsonArray, schema: Schema): JsonArray {
  if (original.length === 0 && patch.length === 0) return original;
  const objects = [...original, ...patch].filter(isJsonObject).length;
  if (objects === 0) return orderLikePatch(withoutRepeats([...original, ...patch]), patch, original, "");
  if (objects < original.length + patch.length) {
    throw new StrategicMergePatchError("list element types are not identical");
  }
  const mergeKey = mergeKeyOf(schema);
  if (mergeKey === "") throw new StrategicMergePatchError("cannot merge lists without merge key");
  return mergeObjectLists(original.filter(isJsonObject), patch.filter(isJsonObject), mergeKey, schema?.items);
}

function mergeObjectLists(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
  itemSchema: Schema,
): JsonArray {
  const changes = patch.filter((item) => getMember(item, PATCH_DIRECTIVE) === undefined);
  const deleted = new Set<string | undefined>();
  let replaces = false;
  for (const item of patch) {
    const directive = getMember(item, PATCH_DIRECTIVE);
    if (directive === undefined) continue;
    if (directive === "replace") replaces = true;
    else if (directive === "delete") deleted.add(identity(keyOf(item, mergeKey)));
    else if (directive === "merge") {
      throw new StrategicMergePatchError("merging lists cannot yet be specified in the patch");
    } else throw badPatchType(directive, item);
  }
  if (replaces) return changes;

  const idOf = (item: JsonObject): string | undefined => {
    const key = getMember(item, mergeKey);
    return key === undefined ? undefined : identity(key);
  };
  const remaining = deleted.size === 0 ? original : original.filter((element) => !deleted.has(idOf(element)));
  const elements = [...remaining];
  const places = placesByIdentity(elements, idOf);
  for (const change of changes) {
    const id = identity(keyOf(change, mergeKey));
    const found = places.get(id) ?? [];
    const place = found.at(-1) ?? elements.length;
    const merged = mergeObjects(elements[place] ?? {}, change, itemSchema);
    elements[place] = merged;
    if (found.length === 0) places.set(id, [place]);
    // A null key has removed the key of this element: the next change with that key must find another one.
    if (idOf(merged) === undefined) places.get(id)?.pop();
  }
  return orderLikePatch(elements, changes, remaining, mergeKey);
}

/** Indexes of the elements by key, the first last. Both lists may have thousands of elements, so neither is searched for each of the other. */
function placesByIdentity(
  elements: readonly JsonObject[],
  idOf: (element: JsonObject) => string | undefined,
): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [place, element] of [...elements.entries()].reverse()) {
    const id = idOf(element);
    if (id === undefined) continue;
    const same = places.get(id);
    if (same === undefined) places.set(id, [place]);
    else same.push(place);
  }
  return places;
}

function keyOf(item: JsonObject, mergeKey: string): JsonValue {
  const key = getMember(item, mergeKey);
  if (key !== undefined) return key;
  throw new StrategicMergePatchError(`map: ${stringifyJson(item)} does not contain declared merge key: ${mergeKey}`);
}

function withoutRepeats(values: JsonArray): JsonArray {
  const kept: JsonValue[] = [];
  const seen = new Set<string>();
  for (const value of values) {
    const text = stringifyJson(value);
    if (!seen.has(text)) kept.push(value);
    seen.add(text);
  }
  return kept;
}

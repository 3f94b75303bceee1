// Takes fields out of a value, or takes out everything but them.
// Source: sigs.k8s.io/structured-merge-diff/typed/remove.go, typed.go (ExtractItems)

import {
  isJsonArray,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
  setMember,
} from "@postern/apimachinery/json/json-value";
import { type FieldSet, isEmptyFieldSet, withPrefix } from "../fieldpath/field-set.ts";
import { fieldElement, indexElement } from "../fieldpath/path-element.ts";
import { listItemElement } from "./list-item-element.ts";
import { ATOMIC, formOf, type ListSchema, type MapSchema, memberSchema, type TypedSchema } from "./typed-schema.ts";

/** The value without the fields of `set` and everything below them. A map or list that loses its last item becomes null. */
export function removeItems(value: JsonValue, set: FieldSet, schema: TypedSchema): JsonValue {
  const form = formOf(schema, value);
  if (typeof form === "string" || isEmptyContainer(value)) return value;
  if (form.relationship === "atomic") return null;
  if (form.kind === "map") return isJsonObject(value) ? removeMembers(value, set, form) : null;
  return isJsonArray(value) ? removeListItems(value, set, form) : null;
}

const isEmptyContainer = (value: JsonValue): boolean =>
  isJsonArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;

function removeMembers(object: JsonObject, set: FieldSet, map: MapSchema): JsonValue {
  const kept: MutableJsonObject = {};
  let size = 0;
  for (const [name, member] of Object.entries(object)) {
    const element = fieldElement(name);
    if (member === undefined || set.members.has(element)) continue;
    const below = withPrefix(set, element);
    setMember(
      kept,
      name,
      isEmptyFieldSet(below) ? member : removeItems(member, below, memberSchema(map, name) ?? ATOMIC),
    );
    size++;
  }
  return size === 0 ? null : kept;
}

function removeListItems(items: JsonArray, set: FieldSet, list: ListSchema): JsonValue {
  const kept: JsonValue[] = [];
  for (const [index, item] of items.entries()) {
    const element = listItemElement(list, item).element ?? indexElement(index);
    if (set.members.has(element)) continue;
    const below = withPrefix(set, element);
    kept.push(isEmptyFieldSet(below) ? item : removeItems(item, below, list.element));
  }
  return kept.length === 0 ? null : kept;
}

/** Nothing of the value but the fields of `set`. A granular map or list that is itself in the set comes out as null. */
export function extractItems(value: JsonValue, set: FieldSet, schema: TypedSchema): JsonValue {
  const form = formOf(schema, value);
  if (typeof form === "string" || form.relationship === "atomic" || isEmptyContainer(value)) return value;
  if (form.kind === "map") return isJsonObject(value) ? extractMembers(value, set, form) : null;
  return isJsonArray(value) ? extractListItems(value, set, form) : null;
}

function extractMembers(object: JsonObject, set: FieldSet, map: MapSchema): JsonValue {
  const extracted: MutableJsonObject = {};
  let size = 0;
  for (const [name, member] of Object.entries(object)) {
    const element = fieldElement(name);
    const below = withPrefix(set, element);
    const isMember = set.members.has(element);
    if (member === undefined || (!isMember && isEmptyFieldSet(below))) continue;
    // Upstream looks a field that is itself in the set up at the level of the field, so that nothing below it is found.
    const wanted = isMember ? set : below;
    setMember(extracted, name, extractItems(member, wanted, memberSchema(map, name) ?? ATOMIC));
    size++;
  }
  return size === 0 ? null : extracted;
}

function extractListItems(items: JsonArray, set: FieldSet, list: ListSchema): JsonValue {
  const extracted: JsonValue[] = [];
  for (const item of items) {
    const element = listItemElement(list, item).element;
    if (element === undefined) continue;
    const below = withPrefix(set, element);
    if (!isEmptyFieldSet(below)) extracted.push(extractItems(item, below, list.element));
    else if (set.members.has(element)) extracted.push(item);
  }
  return extracted.length === 0 ? null : extracted;
}

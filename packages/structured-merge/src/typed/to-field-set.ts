// The set of every leaf, list item and map member that a value mentions.
// Source: sigs.k8s.io/structured-merge-diff/typed/tofieldset.go

import { isJsonArray, isJsonObject, type JsonArray, type JsonValue } from "@postern/apimachinery/json/json-value";
import {
  addField,
  areEqualLeaves,
  draftFieldSet,
  EMPTY_FIELD_SET,
  type FieldSet,
  type FieldSetDraft,
} from "../fieldpath/field-set.ts";
import { fieldElement, type PathElement } from "../fieldpath/path-element.ts";
import { listItemElement } from "./list-item-element.ts";
import { formOf, type ListSchema, type MapSchema, memberSchema, type TypedSchema } from "./typed-schema.ts";

/** Takes a validated value: what does not fit the schema is left out of the set. */
export const toFieldSet = (value: JsonValue, schema: TypedSchema): FieldSet =>
  setBelow(value, schema) ?? EMPTY_FIELD_SET;

/** The fields below a value; undefined for one that is owned as a whole. */
function setBelow(value: JsonValue, schema: TypedSchema): FieldSetDraft | undefined {
  const form = formOf(schema, value);
  if (typeof form === "string" || form.relationship === "atomic") return undefined;
  const set = draftFieldSet();
  if (form.kind === "map") addMembers(set, value, form);
  else if (isJsonArray(value)) addItems(set, value, form);
  return set;
}

function addMembers(set: FieldSetDraft, value: JsonValue, map: MapSchema): void {
  if (!isJsonObject(value)) return;
  for (const name of Object.keys(value)) {
    const member = value[name];
    const schema = memberSchema(map, name);
    if (member === undefined || schema === undefined) continue;
    const below = setBelow(member, schema);
    // A declared struct is owned through its fields; a key of a map, and an empty value, by itself.
    const isMember = below === undefined || isEmptyMap(member) || !map.fields.has(name);
    addField(set, fieldElement(name), isMember, below);
  }
}

const isEmptyMap = (value: JsonValue): boolean =>
  value === null || (isJsonObject(value) && Object.keys(value).length === 0);

function addItems(set: FieldSetDraft, items: JsonArray, list: ListSchema): void {
  const seen = new Map<PathElement, JsonValue>();
  const duplicates = new Set<PathElement>();
  for (const item of items) {
    const { element } = listItemElement(list, item);
    if (element === undefined) continue;
    if (seen.has(element)) duplicates.add(element);
    else seen.set(element, item);
  }
  let last: FieldSetDraft | undefined;
  for (const [element, item] of seen) {
    // For duplicates only the common element is owned: the members below them cannot be distinguished.
    const below = duplicates.has(element) ? undefined : setBelow(item, list.element);
    // Items with the same fields share one set of them.
    if (below !== undefined && (last === undefined || !areEqualLeaves(last, below))) last = below;
    addField(set, element, true, below === undefined ? undefined : last);
  }
}

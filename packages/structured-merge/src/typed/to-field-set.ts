// The set of every leaf, list item and map member that a value mentions.
// Source: sigs.k8s.io/structured-merge-diff/typed/tofieldset.go

import { isJsonArray, isJsonObject, type JsonArray, type JsonValue } from "@postern/apimachinery/json/json-value";
import { draftFieldSet, type FieldSet, type FieldSetDraft, insertPath } from "../fieldpath/field-set.ts";
import { fieldElement, type PathElement } from "../fieldpath/path-element.ts";
import { listItemElement } from "./list-item-element.ts";
import { formOf, type ListSchema, type MapSchema, memberSchema, type TypedSchema } from "./typed-schema.ts";

type Walk = { readonly path: PathElement[]; readonly set: FieldSetDraft };

/** Takes a validated value: what does not fit the schema is left out of the set. */
export function toFieldSet(value: JsonValue, schema: TypedSchema): FieldSet {
  const walk: Walk = { path: [], set: draftFieldSet() };
  visit(walk, value, schema);
  return walk.set;
}

function visit(walk: Walk, value: JsonValue, schema: TypedSchema): void {
  const form = formOf(schema, value);
  if (typeof form === "string" || form.relationship === "atomic") insertPath(walk.set, walk.path);
  else if (form.kind === "map") visitMembers(walk, value, form);
  else if (isJsonArray(value)) visitItems(walk, value, form);
}

function visitMembers(walk: Walk, value: JsonValue, map: MapSchema): void {
  if (!isJsonObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    const schema = memberSchema(map, name);
    if (member === undefined || schema === undefined) continue;
    walk.path.push(fieldElement(name));
    visit(walk, member, schema);
    // A declared struct is owned through what is in it; a key of a map, and an empty value, by itself.
    if (isEmptyMap(member) || !map.fields.has(name)) insertPath(walk.set, walk.path);
    walk.path.pop();
  }
}

const isEmptyMap = (value: JsonValue): boolean =>
  value === null || (isJsonObject(value) && Object.keys(value).length === 0);

function visitItems(walk: Walk, items: JsonArray, list: ListSchema): void {
  const seen = new Map<PathElement, JsonValue>();
  const duplicates = new Set<PathElement>();
  for (const item of items) {
    const { element } = listItemElement(list, item);
    if (element === undefined) continue;
    if (seen.has(element)) duplicates.add(element);
    else seen.set(element, item);
  }
  for (const [element, item] of seen) {
    walk.path.push(element);
    // Of duplicates only the common element is owned: nobody can tell what is below them apart.
    if (!duplicates.has(element)) visit(walk, item, list.element);
    insertPath(walk.set, walk.path);
    walk.path.pop();
  }
}

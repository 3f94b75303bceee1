// Tells which fields were added, removed and modified between two values of one schema.
// Source: sigs.k8s.io/structured-merge-diff/typed/compare.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import {
  getMember,
  isJsonArray,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
} from "@postern/apimachinery/json/json-value";
import {
  draftFieldSet,
  EMPTY_FIELD_SET,
  type FieldSet,
  type FieldSetDraft,
  insertPath,
  isEmptyFieldSet,
} from "../fieldpath/field-set.ts";
import { fieldElement, MAX_PATH_LENGTH, type PathElement } from "../fieldpath/path-element.ts";
import { listItemElement } from "./list-item-element.ts";
import { scalarError } from "./scalar-error.ts";
import {
  formOf,
  type ListSchema,
  type MapSchema,
  memberSchema,
  type ScalarKind,
  type TypedSchema,
  type ValueForm,
} from "./typed-schema.ts";
import { createTypedErrorLog, TOO_DEEP, type TypedErrorLog, UNDECLARED_FIELD } from "./typed-value-error.ts";

/** No field is in more than one of the three. */
export type Comparison = { readonly added: FieldSet; readonly removed: FieldSet; readonly modified: FieldSet };

export const NO_CHANGES: Comparison = {
  added: EMPTY_FIELD_SET,
  removed: EMPTY_FIELD_SET,
  modified: EMPTY_FIELD_SET,
};

export const isUnchanged = ({ added, removed, modified }: Comparison): boolean =>
  isEmptyFieldSet(added) && isEmptyFieldSet(removed) && isEmptyFieldSet(modified);

type Walk = {
  readonly path: PathElement[];
  readonly added: FieldSetDraft;
  readonly removed: FieldSetDraft;
  readonly modified: FieldSetDraft;
  readonly log: TypedErrorLog;
};

/** A value, or undefined where that side has none. */
type Side = JsonValue | undefined;

/** @throws TypedValueError when neither side fits the schema, or list items cannot be distinguished. */
export function compareValues(before: JsonValue, after: JsonValue, schema: TypedSchema): Comparison {
  if (before === after) return NO_CHANGES;
  const walk: Walk = {
    path: [],
    added: draftFieldSet(),
    removed: draftFieldSet(),
    modified: draftFieldSet(),
    log: createTypedErrorLog(),
  };
  visit(walk, before, after, schema);
  walk.log.throwIfAny();
  return walk;
}

function visit(walk: Walk, before: Side, after: Side, schema: TypedSchema): void {
  // Values shared by reference are the common case after a patch.
  if (before === after) return;
  if (walk.path.length > MAX_PATH_LENGTH) {
    walk.log.report(walk.path, TOO_DEEP);
    return;
  }
  const beforeForm = formOf(schema, before);
  const afterForm = formOf(schema, after);
  // An absent side takes the form of the other one.
  const form = after === undefined ? beforeForm : afterForm;
  if (before !== undefined && after !== undefined && beforeForm !== afterForm) {
    visitForm(walk, before, after, beforeForm);
  }
  const wentBelow = visitForm(walk, before, after, form);
  if (wentBelow && (before === undefined || after === undefined)) recordLeaf(walk, before, after);
}

/** False where the two were compared as a whole. */
function visitForm(walk: Walk, before: Side, after: Side, form: ValueForm): boolean {
  if (typeof form === "string") {
    compareScalars(walk, before, after, form);
    return false;
  }
  return form.kind === "map" ? visitMap(walk, before, after, form) : visitList(walk, before, after, form);
}

function recordLeaf(walk: Walk, before: Side, after: Side): void {
  if (before === undefined) insertPath(walk.added, walk.path);
  else if (after === undefined) insertPath(walk.removed, walk.path);
  else if (!equalJson(before, after)) insertPath(walk.modified, walk.path);
}

function compareScalars(walk: Walk, before: Side, after: Side, kind: ScalarKind): void {
  const beforeFault = before === undefined ? undefined : scalarError(kind, before);
  const afterFault = after === undefined ? undefined : scalarError(kind, after);
  if (beforeFault !== undefined && afterFault !== undefined) {
    walk.log.report(walk.path, `lhs: ${beforeFault}`);
    walk.log.report(walk.path, `rhs: ${afterFault}`);
  } else recordLeaf(walk, before, after);
}

const NO_MEMBERS: JsonObject = {};

function visitMap(walk: Walk, before: Side, after: Side, map: MapSchema): boolean {
  const old = isJsonObject(before) ? before : NO_MEMBERS;
  const next = isJsonObject(after) ? after : NO_MEMBERS;
  const oldNames = Object.keys(old);
  const nextNames = Object.keys(next);
  // Two empty sides are a leaf, so that {} and null stay different.
  if (map.relationship === "atomic" || (oldNames.length === 0 && nextNames.length === 0)) {
    recordLeaf(walk, before, after);
    return false;
  }
  for (const name of oldNames) visitMember(walk, map, name, old[name], getMember(next, name));
  for (const name of nextNames) if (!Object.hasOwn(old, name)) visitMember(walk, map, name, undefined, next[name]);
  return true;
}

function visitMember(walk: Walk, map: MapSchema, name: string, before: Side, after: Side): void {
  if (before === after) return;
  const schema = memberSchema(map, name);
  walk.path.push(fieldElement(name));
  if (schema === undefined) walk.log.report(walk.path, UNDECLARED_FIELD);
  else visit(walk, before, after, schema);
  walk.path.pop();
}

const NO_ITEMS: JsonArray = [];

function visitList(walk: Walk, before: Side, after: Side, list: ListSchema): boolean {
  const old = isJsonArray(before) ? before : NO_ITEMS;
  const next = isJsonArray(after) ? after : NO_ITEMS;
  if (list.relationship === "atomic" || (old.length === 0 && next.length === 0)) {
    recordLeaf(walk, before, after);
    return false;
  }
  const oldItems = itemsByElement(walk, old, list);
  const nextItems = itemsByElement(walk, next, list);
  for (const [element, item] of oldItems) visitItem(walk, element, item, nextItems.get(element), list.element);
  for (const [element, item] of nextItems) {
    if (!oldItems.has(element)) visitItem(walk, element, undefined, item, list.element);
  }
  return true;
}

/** Items that share one element. Most lists have none: no list is made for a single item. */
class Repeated {
  readonly items: JsonValue[];
  constructor(...items: JsonValue[]) {
    this.items = items;
  }
}

type Items = Map<PathElement, JsonValue | Repeated>;

function itemsByElement(walk: Walk, items: JsonArray, list: ListSchema): Items {
  const found: Items = new Map();
  for (const [index, item] of items.entries()) {
    const { element, fault } = listItemElement(list, item);
    if (element === undefined) {
      walk.log.report(walk.path, `element ${index}: ${fault}`);
      continue;
    }
    const first = found.get(element);
    if (first === undefined) found.set(element, item);
    else if (first instanceof Repeated) first.items.push(item);
    else found.set(element, new Repeated(first, item));
  }
  return found;
}

/** Duplicates are compared as one opaque item; a single item field by field. */
function visitItem(
  walk: Walk,
  element: PathElement,
  old: Side | Repeated,
  next: Side | Repeated,
  schema: TypedSchema,
): void {
  walk.path.push(element);
  if (!(old instanceof Repeated)) {
    if (!(next instanceof Repeated)) visit(walk, old, next, schema);
    else {
      if (old !== undefined) visit(walk, old, undefined, schema);
      insertPath(walk.added, walk.path);
    }
  } else if (next instanceof Repeated) recordLeaf(walk, old.items, next.items);
  else {
    if (next !== undefined) visit(walk, undefined, next, schema);
    insertPath(walk.removed, walk.path);
  }
  walk.path.pop();
}

// Lays an applied value over a live one.
// Source: sigs.k8s.io/structured-merge-diff/typed/merge.go

import {
  getMember,
  isJsonArray,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
  setMember,
} from "@postern/apimachinery/json/json-value";
import { fieldElement, formatPathElement, type PathElement } from "../fieldpath/path-element.ts";
import { listItemElement } from "./list-item-element.ts";
import { mergeOrder } from "./merge-order.ts";
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
import { createTypedErrorLog, type TypedErrorLog, UNDECLARED_FIELD } from "./typed-value-error.ts";

type Walk = { readonly path: PathElement[]; readonly log: TypedErrorLog };

/** A value, or undefined where that side has none. */
type Side = JsonValue | undefined;

/**
 * `applied` wins wherever both say something; nothing is removed. Lists keep the live order where `applied` has nothing
 * to say about it.
 * @throws TypedValueError when the two cannot be merged under the schema.
 */
export function mergeValues(live: JsonValue, applied: JsonValue, schema: TypedSchema): JsonValue {
  const walk: Walk = { path: [], log: createTypedErrorLog() };
  const merged = visit(walk, live, applied, schema);
  walk.log.throwIfAny();
  return merged ?? null;
}

function visit(walk: Walk, live: Side, applied: Side, schema: TypedSchema): Side {
  return visitForm(walk, live, applied, formOf(schema, applied === undefined ? live : applied));
}

function visitForm(walk: Walk, live: Side, applied: Side, form: ValueForm): Side {
  if (typeof form === "string") return mergeScalars(walk, live, applied, form);
  return form.kind === "map" ? mergeMaps(walk, live, applied, form) : mergeLists(walk, live, applied, form);
}

const takeApplied = (live: Side, applied: Side): Side => (applied === undefined ? live : applied);

function mergeScalars(walk: Walk, live: Side, applied: Side, kind: ScalarKind): Side {
  const liveFault = live === undefined ? undefined : scalarError(kind, live);
  const appliedFault = applied === undefined ? undefined : scalarError(kind, applied);
  if (liveFault !== undefined && appliedFault !== undefined) {
    walk.log.report(walk.path, `lhs: ${liveFault}`);
    walk.log.report(walk.path, `rhs: ${appliedFault}`);
  }
  return takeApplied(live, applied);
}

const NO_MEMBERS: JsonObject = {};

function mergeMaps(walk: Walk, live: Side, applied: Side, map: MapSchema): Side {
  const old = isJsonObject(live) ? live : NO_MEMBERS;
  const next = isJsonObject(applied) ? applied : NO_MEMBERS;
  const oldNames = Object.keys(old);
  const nextNames = Object.keys(next);
  if (map.relationship === "atomic" || (oldNames.length === 0 && nextNames.length === 0)) {
    return takeApplied(live, applied);
  }
  const merged: MutableJsonObject = {};
  for (const name of oldNames) mergeMember(walk, map, merged, name, old[name], getMember(next, name));
  for (const name of nextNames) {
    if (!Object.hasOwn(old, name)) mergeMember(walk, map, merged, name, undefined, next[name]);
  }
  return merged;
}

function mergeMember(
  walk: Walk,
  map: MapSchema,
  merged: MutableJsonObject,
  name: string,
  live: Side,
  applied: Side,
): void {
  if (live === undefined && applied === undefined) return;
  const schema = memberSchema(map, name);
  walk.path.push(fieldElement(name));
  if (schema === undefined) walk.log.report(walk.path, UNDECLARED_FIELD);
  else {
    const value = visit(walk, live, applied, schema);
    if (value !== undefined) setMember(merged, name, value);
  }
  walk.path.pop();
}

const NO_ITEMS: JsonArray = [];

function mergeLists(walk: Walk, live: Side, applied: Side, list: ListSchema): Side {
  const old = isJsonArray(live) ? live : NO_ITEMS;
  const next = isJsonArray(applied) ? applied : NO_ITEMS;
  if (list.relationship === "atomic" || (old.length === 0 && next.length === 0)) return takeApplied(live, applied);

  const oldElements = itemElements(walk, old, list);
  const nextElements = itemElements(walk, next, list);
  const nextItems = indexItems(walk, next, nextElements);
  const oldItems = indexLiveItems(old, oldElements);
  const merged: JsonValue[] = [];
  for (const { element, liveIndex } of mergeOrder(oldElements, nextElements)) {
    walk.path.push(element);
    // An item that only the live side has is taken by its place, since duplicates share one element.
    const item =
      liveIndex === undefined
        ? visit(walk, oldItems.get(element), nextItems.get(element), list.element)
        : visit(walk, old[liveIndex], undefined, list.element);
    walk.path.pop();
    if (item !== undefined) merged.push(item);
  }
  return merged;
}

function itemElements(walk: Walk, items: JsonArray, list: ListSchema): PathElement[] {
  const elements: PathElement[] = [];
  for (const [index, item] of items.entries()) {
    const { element, fault } = listItemElement(list, item);
    if (element === undefined) walk.log.report(walk.path, `element ${index}: ${fault}`);
    else elements.push(element);
  }
  return elements;
}

function indexItems(walk: Walk, items: JsonArray, elements: readonly PathElement[]): Map<PathElement, Side> {
  const index = new Map<PathElement, Side>();
  for (const [place, element] of elements.entries()) {
    if (index.has(element)) walk.log.report(walk.path, `duplicate entries for key ${formatPathElement(element)}`);
    else index.set(element, items[place]);
  }
  return index;
}

/** A live duplicate is merged with nothing: the applied item takes the place of all of them. */
function indexLiveItems(items: JsonArray, elements: readonly PathElement[]): Map<PathElement, Side> {
  const index = new Map<PathElement, Side>();
  for (const [place, element] of elements.entries()) index.set(element, index.has(element) ? null : items[place]);
  return index;
}

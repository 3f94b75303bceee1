// Applies the defaults of a schema, and drops nulls that it does not allow. The size that defaults may add to one object is limited: those of items
// come once for each item, so that a small body could become an object without an end.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/{algorithm,prunenulls}.go

import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { requestEntityTooLargeError } from "../meta/api-error.ts";
import { type MemberChanges, withMemberChanges } from "./member-changes.ts";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "./structural-schema.ts";

type DefaultedProperty = readonly [name: string, property: StructuralSchema, value: JsonValue];

const defaulted = new WeakMap<StructuralSchema, readonly DefaultedProperty[]>();

/** Found once for a schema: it may describe thousands of properties, and an object may have thousands of items that it describes. */
function defaultedProperties(schema: StructuralSchema): readonly DefaultedProperty[] {
  const known = defaulted.get(schema);
  if (known !== undefined) return known;
  const found = Object.entries(schema.properties ?? {}).flatMap(([name, property]): DefaultedProperty[] => {
    const value = property.default ?? null;
    return value === null ? [] : [[name, property, value]];
  });
  defaulted.set(schema, found);
  return found;
}

/** As much as a client may send. */
export const MAX_DEFAULTS_BYTES = 3 * 1024 * 1024;
/** Size of a value beside its text. */
const VALUE_BYTES = 32;

/** How much defaults may still add. One is for one object, or for several that count together. */
export class DefaultsRoom {
  #left = MAX_DEFAULTS_BYTES;

  /** Throws an ApiError 413 if no room is left. */
  take(value: JsonValue): void {
    this.#left -= VALUE_BYTES;
    if (typeof value === "string") this.#left -= value.length;
    if (this.#left < 0) throw requestEntityTooLargeError("the defaults of its schema make the object too large");
    if (isJsonArray(value)) for (const item of value) this.take(item);
    else if (isJsonObject(value)) {
      for (const [name, member = null] of Object.entries(value)) {
        this.#left -= name.length;
        this.take(member);
      }
    }
  }
}

/** Applies defaults as a write does: nulls that no default can replace go first, then defaults come in. Throws as `setDefaults` does. */
export function applyDefaults(value: JsonValue, schema: StructuralSchema, room?: DefaultsRoom): JsonValue {
  return setDefaults(pruneNulls(value, schema), schema, room);
}

/**
 * The value with defaults where members are absent, or null without being nullable; the same value when none are due.
 * Defaults are shared with the schema, not copied: values are never changed in place. Throws an ApiError 413 where they are more than there is room for.
 */
export function setDefaults(
  value: JsonValue,
  schema: StructuralSchema | undefined,
  room: DefaultsRoom = new DefaultsRoom(),
): JsonValue {
  if (schema === undefined) return value;
  if (isJsonObject(value)) return setMemberDefaults(value, schema, room);
  if (isJsonArray(value)) return setItemDefaults(value, schema.items, room);
  return value;
}

function setMemberDefaults(object: JsonObject, schema: StructuralSchema, room: DefaultsRoom): JsonObject {
  let changes: MemberChanges | undefined;
  for (const [name, property, value] of defaultedProperties(schema)) {
    const member = Object.hasOwn(object, name) ? object[name] : undefined;
    if (member !== undefined && !isForbiddenNull(member, property)) continue;
    changes ??= new Map();
    room.take(value);
    changes.set(name, setDefaults(value, property, room));
  }
  for (const name of Object.keys(object)) {
    const member = object[name];
    if (member === undefined || changes?.has(name) === true) continue;
    const filled = setMapValueDefault(member, propertyOf(schema, name), valueSchemaOf(schema), room);
    if (filled === member) continue;
    changes ??= new Map();
    changes.set(name, filled);
  }
  return withMemberChanges(object, changes);
}

function setMapValueDefault(
  member: JsonValue,
  property: StructuralSchema | undefined,
  valueSchema: StructuralSchema | undefined,
  room: DefaultsRoom,
): JsonValue {
  if (property !== undefined) return setDefaults(member, property, room);
  return setDefaults(replaceForbiddenNull(member, valueSchema, room), valueSchema, room);
}

function setItemDefaults(array: JsonArray, items: StructuralSchema | undefined, room: DefaultsRoom): JsonArray {
  let copy: JsonValue[] | undefined;
  for (const [index, item] of array.entries()) {
    const filled = setDefaults(replaceForbiddenNull(item, items, room), items, room);
    if (filled === item) continue;
    copy ??= [...array];
    copy[index] = filled;
  }
  return copy ?? array;
}

const isForbiddenNull = (value: JsonValue | undefined, schema: StructuralSchema | undefined): boolean =>
  value === null && schema !== undefined && schema.nullable !== true;

function replaceForbiddenNull(value: JsonValue, schema: StructuralSchema | undefined, room: DefaultsRoom): JsonValue {
  if (!isForbiddenNull(value, schema)) return value;
  const replaced = schema?.default ?? null;
  room.take(replaced);
  return replaced;
}

/** The value without the members that are null, not nullable, and have no default to take their place. */
export function pruneNulls(value: JsonValue, schema: StructuralSchema | undefined): JsonValue {
  if (schema === undefined) return value;
  if (isJsonObject(value)) return pruneNullMembers(value, schema);
  if (isJsonArray(value)) return pruneNullsOfItems(value, schema.items);
  return value;
}

function pruneNullMembers(object: JsonObject, schema: StructuralSchema): JsonObject {
  let changes: MemberChanges | undefined;
  for (const name of Object.keys(object)) {
    const member = object[name];
    if (member === undefined) continue;
    const declared = propertyOf(schema, name) ?? valueSchemaOf(schema);
    const drop = isForbiddenNull(member, declared) && (declared?.default ?? null) === null;
    const kept = drop ? undefined : pruneNulls(member, declared);
    if (kept === member) continue;
    changes ??= new Map();
    changes.set(name, kept);
  }
  return withMemberChanges(object, changes);
}

function pruneNullsOfItems(array: JsonArray, items: StructuralSchema | undefined): JsonArray {
  let copy: JsonValue[] | undefined;
  for (const [index, item] of array.entries()) {
    const kept = pruneNulls(item, items);
    if (kept === item) continue;
    copy ??= [...array];
    copy[index] = kept;
  }
  return copy ?? array;
}

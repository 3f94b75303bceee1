// Applies the defaults of a schema, and drops nulls that it does not allow.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/{algorithm,prunenulls}.go

import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { type MemberChanges, withMemberChanges } from "./member-changes.ts";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "./structural-schema.ts";

const NO_PROPERTIES: NonNullable<StructuralSchema["properties"]> = {};

/** What a write does: nulls that no default can replace go first, then defaults come in. */
export function applyDefaults(value: JsonValue, schema: StructuralSchema): JsonValue {
  return setDefaults(pruneNulls(value, schema), schema);
}

/**
 * The value with defaults where members are absent, or null without being nullable; the same value when none are due.
 * Defaults are shared with the schema, not copied: values are never changed in place.
 */
export function setDefaults(value: JsonValue, schema: StructuralSchema | undefined): JsonValue {
  if (schema === undefined) return value;
  if (isJsonObject(value)) return setMemberDefaults(value, schema);
  if (isJsonArray(value)) return setItemDefaults(value, schema.items);
  return value;
}

function setMemberDefaults(object: JsonObject, schema: StructuralSchema): JsonObject {
  let changes: MemberChanges | undefined;
  const { properties = NO_PROPERTIES } = schema;
  for (const name of Object.keys(properties)) {
    const property = properties[name];
    if (property?.default === undefined || property.default === null) continue;
    const member = Object.hasOwn(object, name) ? object[name] : undefined;
    if (member !== undefined && !isForbiddenNull(member, property)) continue;
    changes ??= new Map();
    changes.set(name, setDefaults(property.default, property));
  }
  for (const name of Object.keys(object)) {
    const member = object[name];
    if (member === undefined || changes?.has(name) === true) continue;
    const filled = setMapValueDefault(member, propertyOf(schema, name), valueSchemaOf(schema));
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
): JsonValue {
  if (property !== undefined) return setDefaults(member, property);
  return setDefaults(replaceForbiddenNull(member, valueSchema), valueSchema);
}

function setItemDefaults(array: JsonArray, items: StructuralSchema | undefined): JsonArray {
  let copy: JsonValue[] | undefined;
  for (const [index, item] of array.entries()) {
    const filled = setDefaults(replaceForbiddenNull(item, items), items);
    if (filled === item) continue;
    copy ??= [...array];
    copy[index] = filled;
  }
  return copy ?? array;
}

const isForbiddenNull = (value: JsonValue | undefined, schema: StructuralSchema | undefined): boolean =>
  value === null && schema !== undefined && schema.nullable !== true;

const replaceForbiddenNull = (value: JsonValue, schema: StructuralSchema | undefined): JsonValue =>
  isForbiddenNull(value, schema) ? (schema?.default ?? null) : value;

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

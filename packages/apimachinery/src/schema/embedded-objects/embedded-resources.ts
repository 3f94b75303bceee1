// Brings the metadata of the resources that a schema says are embedded in an object into its one form.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go

import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import { childPath, indexPath, keyPath } from "../../validation/field-error.ts";
import { formatGoValue } from "../../validation/go-syntax.ts";
import { type MemberChanges, withMemberChanges } from "../member-changes.ts";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "../structural-schema.ts";
import { conformMetadata } from "./coerce-metadata.ts";
import { findMetadataError } from "./find-metadata-error.ts";

export type CoercedResources = {
  /** The value given, itself, when there was nothing to change. */
  readonly value: JsonValue;
  /** Fields that metadata does not have, such as `spec.template.metadata.bogus`. */
  readonly unknownPaths: readonly string[];
  /** The first embedded resource that cannot be read at all, as a text: the object is refused with it. */
  readonly fault?: string;
};

/** The object itself is no embedded resource. */
export function coerceEmbeddedResources(value: JsonValue, schema: StructuralSchema): CoercedResources {
  if (!hasEmbeddedResource(schema)) return { value, unknownPaths: [] };
  const walk: Walk = { unknownPaths: [], fault: undefined };
  const coerced = coerce(walk, value, schema, "");
  const { unknownPaths, fault } = walk;
  return { value: coerced, unknownPaths, ...(fault === undefined ? {} : { fault }) };
}

type Walk = { readonly unknownPaths: string[]; fault: string | undefined };

function coerce(walk: Walk, value: JsonValue, schema: StructuralSchema, path: string): JsonValue {
  if (isJsonArray(value)) return coerceItems(walk, value, schema, path);
  return isJsonObject(value) ? coerceMembers(walk, value, schema, path) : value;
}

function coerceItems(walk: Walk, array: JsonArray, { items }: StructuralSchema, path: string): JsonArray {
  if (items === undefined || !hasEmbeddedResource(items)) return array;
  const coerced = array.map((item, index) => coerce(walk, item, items, indexPath(path, index)));
  return coerced.every((item, index) => item === array[index]) ? array : coerced;
}

function coerceMembers(walk: Walk, object: JsonObject, schema: StructuralSchema, path: string): JsonObject {
  const changes: MemberChanges = new Map();
  const isResource = schema["x-kubernetes-embedded-resource"] === true;
  const valueSchema = valueSchemaOf(schema);
  for (const [name, member = null] of Object.entries(object)) {
    const property = propertyOf(schema, name);
    let kept = isResource ? coerceResourceField(walk, name, member, childPath(path, name)) : member;
    if (property !== undefined) kept = coerce(walk, kept, property, childPath(path, name));
    else if (valueSchema !== undefined) kept = coerce(walk, kept, valueSchema, keyPath(path, name));
    if (kept !== member) changes.set(name, kept);
  }
  return withMemberChanges(object, changes);
}

function coerceResourceField(walk: Walk, name: string, member: JsonValue, path: string): JsonValue {
  if (name === "metadata") return coerceMetadataOf(walk, member, path);
  if ((name === "apiVersion" || name === "kind") && typeof member !== "string") {
    walk.fault ??= `${path}: Invalid value: ${formatGoValue(member)}: must be a string`;
  }
  return member;
}

function coerceMetadataOf(walk: Walk, metadata: JsonValue, path: string): JsonValue {
  if (metadata === null) return metadata;
  const fault = findMetadataError(metadata);
  if (fault !== undefined) {
    walk.fault ??= `${path}: Invalid value: ${formatGoValue(metadata)}: ${fault}`;
    return metadata;
  }
  const { metadata: coerced, unknownPaths } = conformMetadata(metadata, path);
  walk.unknownPaths.push(...unknownPaths);
  // Metadata is of JSON values only.
  return coerced as JsonObject;
}

/** Schemas never change, and most have nothing embedded anywhere. */
const known = new WeakMap<StructuralSchema, boolean>();

export function hasEmbeddedResource(schema: StructuralSchema): boolean {
  const remembered = known.get(schema);
  if (remembered !== undefined) return remembered;
  const below = [schema.items, valueSchemaOf(schema), ...Object.values(schema.properties ?? {})];
  const found =
    schema["x-kubernetes-embedded-resource"] === true ||
    below.some((part) => part !== undefined && hasEmbeddedResource(part));
  known.set(schema, found);
  return found;
}

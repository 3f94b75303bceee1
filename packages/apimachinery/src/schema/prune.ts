// Drops fields that a schema does not declare, and reports them.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go

import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { type MemberChanges, withMemberChanges } from "./member-changes.ts";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "./structural-schema.ts";
import { formatValuePath, type ValuePath } from "./value-path.ts";

export type PruneOptions = {
  /** The value is a whole resource: apiVersion, kind and metadata stay as they are, whatever the schema says. */
  readonly isResourceRoot?: boolean;
};

export type Pruned = {
  /** The value given, itself, when nothing was unknown. */
  readonly value: JsonValue;
  /** In document order, such as `spec.scope.projects[0].x`. */
  readonly unknownPaths: readonly string[];
};

type Walk = { readonly path: ValuePath; readonly unknownPaths: string[] };

const RESOURCE_FIELDS = new Set(["apiVersion", "kind", "metadata"]);

export function pruneUnknownFields(
  value: JsonValue,
  schema: StructuralSchema,
  { isResourceRoot = false }: PruneOptions = {},
): Pruned {
  const walk: Walk = { path: [], unknownPaths: [] };
  const root = isResourceRoot ? { ...schema, "x-kubernetes-embedded-resource": true } : schema;
  return { value: prune(value, root, walk), unknownPaths: walk.unknownPaths };
}

/** Without a schema nothing is known: objects lose all their members. */
function prune(value: JsonValue, schema: StructuralSchema | undefined, walk: Walk): JsonValue {
  if (isJsonObject(value)) return pruneObject(value, schema, walk);
  if (isJsonArray(value)) return pruneItems(value, schema, walk);
  return value;
}

function pruneObject(object: JsonObject, schema: StructuralSchema | undefined, walk: Walk): JsonObject {
  let changes: MemberChanges | undefined;
  for (const name of Object.keys(object)) {
    const member = object[name];
    if (member === undefined || isResourceField(schema, name)) continue;
    walk.path.push(name);
    const kept = pruneMember(member, name, schema, walk);
    walk.path.pop();
    if (kept === member) continue;
    changes ??= new Map();
    changes.set(name, kept);
  }
  return withMemberChanges(object, changes);
}

const isResourceField = (schema: StructuralSchema | undefined, name: string): boolean =>
  schema?.["x-kubernetes-embedded-resource"] === true && RESOURCE_FIELDS.has(name);

/** undefined drops the member. */
function pruneMember(
  member: JsonValue,
  name: string,
  schema: StructuralSchema | undefined,
  walk: Walk,
): JsonValue | undefined {
  const declared = schema && (propertyOf(schema, name) ?? valueSchemaOf(schema));
  if (declared !== undefined) return prune(member, declared, walk);
  if (schema?.["x-kubernetes-preserve-unknown-fields"] === true) return member;
  if (schema?.additionalProperties === true) return member;
  if (schema?.additionalProperties === false) return prune(member, undefined, walk);
  walk.unknownPaths.push(formatValuePath(walk.path));
  return undefined;
}

function pruneItems(array: JsonArray, schema: StructuralSchema | undefined, walk: Walk): JsonArray {
  if (schema?.items === undefined && schema?.["x-kubernetes-preserve-unknown-fields"] === true) return array;
  let copy: JsonValue[] | undefined;
  for (const [index, item] of array.entries()) {
    walk.path.push(index);
    const kept = prune(item, schema?.items, walk);
    walk.path.pop();
    if (kept === item) continue;
    copy ??= [...array];
    copy[index] = kept;
  }
  return copy ?? array;
}

// Lays what the expression of a mutation makes over an object.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch/{smd,json_patch}.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { applyJsonPatch } from "@postern/apimachinery/patch/apply-json-patch";
import { decodeJsonPatchLoosely } from "@postern/apimachinery/patch/decode-json-patch";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { CelEvaluationError } from "@postern/cel/cel-value";
import { mergeValues } from "@postern/structured-merge/typed/merge-values";
import { objectSchemaFrom } from "@postern/structured-merge/typed/schema-from-structural";
import { memberSchema, type TypedSchema } from "@postern/structured-merge/typed/typed-schema";
import { TypedValueError } from "@postern/structured-merge/typed/typed-value-error";
import { validateValue } from "@postern/structured-merge/typed/validate-value";

const schemas = new WeakMap<ResourceDefinition, TypedSchema>();

function schemaOf(definition: ResourceDefinition): TypedSchema {
  const known = schemas.get(definition) ?? objectSchemaFrom(definition.schema);
  schemas.set(definition, known);
  return known;
}

/** Throws CelEvaluationError for a configuration that cannot be merged, and for one with members that are owned as a whole. */
export function applyConfiguration(object: KubeObject, patch: JsonValue, definition: ResourceDefinition): JsonValue {
  const schema = schemaOf(definition);
  const { apiVersion, kind } = object;
  const applied: JsonObject = { ...(patch as JsonObject), apiVersion, kind };
  try {
    validateValue(applied, schema);
    const whole = wholeParts(applied, schema, "");
    if (whole.length > 0) {
      throw new CelEvaluationError(
        `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${whole.join(", ")}`,
      );
    }
    return mergeValues(object, applied, schema);
  } catch (error) {
    if (!(error instanceof TypedValueError)) throw error;
    throw new CelEvaluationError(
      `error applying patch: failed to convert patch object to typed object: ${error.message}`,
    );
  }
}

/** Paths of the parts that are owned as a whole: what the patch leaves out of them would be lost. */
function wholeParts(value: JsonValue, schema: TypedSchema, path: string): readonly string[] {
  if (isJsonArray(value) && schema.list !== undefined) {
    const { relationship, element } = schema.list;
    return [
      ...(relationship === "atomic" ? [path] : []),
      ...value.flatMap((item, index) => wholeParts(item, element, `${path}[${index}]`)),
    ];
  }
  if (!isJsonObject(value) || schema.map === undefined) return [];
  const { map } = schema;
  return [
    ...(map.relationship === "atomic" ? [path] : []),
    ...Object.entries(value).flatMap(([name, member]) => {
      const below = map.fields.has(name) ? memberSchema(map, name) : undefined;
      return member === undefined || below === undefined ? [] : wholeParts(member, below, `${path}.${name}`);
    }),
  ];
}

/** Throws JsonPatchError and PatchDecodeError. */
export function applyOperations(object: KubeObject, operations: JsonValue): JsonValue {
  const listed = (isJsonArray(operations) ? operations : []).map(operationOf);
  return applyJsonPatch(object, decodeJsonPatchLoosely(stringifyJson(listed)));
}

/** An empty `from` is none. */
const operationOf = (operation: JsonValue): JsonValue => {
  if (!isJsonObject(operation)) return operation;
  const { from, ...rest } = operation;
  return from === undefined || from === "" ? rest : operation;
};

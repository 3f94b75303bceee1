// Everything that is derived from a resource's schema, compiled once per process and shared by API surfaces.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import { asGoWrites, isProtobufKind } from "@postern/apimachinery/protobuf/protobuf-object";
import { collectDeprecations, type Deprecation } from "@postern/apimachinery/schema/deprecation";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { type SchemaValidator, schemaValidatorOf } from "@postern/apimachinery/schema/validation/validate-schema";
import { createFieldManager, type FieldManager } from "@postern/structured-merge/managedfields/field-manager";
import { cachedFieldManager } from "./cached-field-manager.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

export type CompiledSchema = {
  readonly validator: SchemaValidator;
  readonly fieldManager: FieldManager;
};

/** By schema, and by what else of a definition counts: kinds of one schema can differ in that. Schemas never change. */
const compiledSchemas = new WeakMap<StructuralSchema, Map<string, CompiledSchema>>();

export function compiledSchemaOf(definition: ResourceDefinition): CompiledSchema {
  const { schema, group, version, kind, hasStatus = false, sealed, strategicMergePatch = false } = definition;
  const otherVersions = definition.otherVersions ?? [];
  const variant = JSON.stringify([
    group,
    version,
    kind,
    hasStatus,
    sealed?.paths ?? [],
    strategicMergePatch,
    otherVersions,
  ]);
  const variants = compiledSchemas.get(schema) ?? new Map<string, CompiledSchema>();
  const known = variants.get(variant);
  if (known !== undefined) return known;
  const validator = schemaValidatorOf(schema);
  const fieldManager = createFieldManager({
    schema,
    groupVersion: { group, version },
    hasStatus,
    otherVersions: otherVersions.map((other) => formatApiVersion({ group, version: other })),
    untrackedPaths: sealed?.paths ?? [],
    structs: strategicMergePatch ? structsOf(definition) : {},
  });
  const compiled: CompiledSchema = { validator, fieldManager: cachedFieldManager(fieldManager, validator.isPlain) };
  compiledSchemas.set(schema, variants.set(variant, compiled));
  return compiled;
}

/** The members of objects of a kind with a Go type before anything is set: their structs, not their maps. */
function structsOf({ group, version, kind, schema: { properties = {} } }: ResourceDefinition): JsonObject {
  const apiVersion = formatApiVersion({ group, version });
  if (isProtobufKind(apiVersion, kind)) {
    const { apiVersion: _, kind: _kind, metadata: _metadata, ...structs } = asGoWrites({ apiVersion, kind });
    return structs;
  }
  const names = Object.keys(properties).filter(
    (name) => name !== "metadata" && properties[name]?.properties !== undefined,
  );
  return Object.fromEntries(names.map((name) => [name, {}]));
}

const deprecations = new WeakMap<StructuralSchema, readonly Deprecation[]>();

/** The deprecated fields of a resource's schema or of a subresource's, found once. */
export function deprecationsOf(schema: StructuralSchema): readonly Deprecation[] {
  const known = deprecations.get(schema) ?? collectDeprecations(schema);
  deprecations.set(schema, known);
  return known;
}

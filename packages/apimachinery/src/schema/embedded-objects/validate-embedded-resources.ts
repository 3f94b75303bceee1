// Checks apiVersion, kind and metadata of the resources that a schema says are embedded in an object.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/validation.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import { parseApiVersion } from "../../meta/group-version.ts";
import type { ObjectMeta } from "../../meta/object-meta.ts";
import {
  childPath,
  type FieldError,
  indexPath,
  invalidError,
  keyPath,
  requiredError,
} from "../../validation/field-error.ts";
import { validateObjectMeta } from "../../validation/object-meta.ts";
import { nameIsPathSegment } from "../../validation/object-name.ts";
import { isDNS1035Label } from "../../validation/string-validators.ts";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "../structural-schema.ts";
import { hasEmbeddedResource } from "./embedded-resources.ts";
import { findMetadataError } from "./find-metadata-error.ts";

/** Faults below `path`, which is "" for a whole object. The object itself is no embedded one. */
export function validateEmbeddedResources(
  value: JsonValue,
  schema: StructuralSchema,
  path: string,
): readonly FieldError[] {
  if (!hasEmbeddedResource(schema)) return [];
  const errors: FieldError[] = [];
  check(value, schema, path, errors);
  return errors;
}

function check(value: JsonValue | undefined, schema: StructuralSchema, path: string, errors: FieldError[]): void {
  if (isJsonArray(value)) {
    const { items } = schema;
    if (items === undefined || !hasEmbeddedResource(items)) return;
    for (const [index, item] of value.entries()) check(item, items, indexPath(path, index), errors);
    return;
  }
  if (!isJsonObject(value)) return;
  if (schema["x-kubernetes-embedded-resource"] === true) errors.push(...resourceFaults(value, path));
  const valueSchema = valueSchemaOf(schema);
  for (const name of Object.keys(value)) {
    const property = propertyOf(schema, name);
    if (property !== undefined) check(value[name], property, childPath(path, name), errors);
    else if (valueSchema !== undefined) check(value[name], valueSchema, keyPath(path, name), errors);
  }
}

function resourceFaults({ apiVersion, kind, metadata }: JsonObject, path: string): readonly FieldError[] {
  return [
    ...apiVersionFaults(apiVersion, childPath(path, "apiVersion")),
    ...kindFaults(kind, childPath(path, "kind")),
    ...(metadata === undefined ? [] : metadataFaults(metadata, childPath(path, "metadata"))),
  ];
}

function apiVersionFaults(apiVersion: JsonValue | undefined, path: string): readonly FieldError[] {
  if (apiVersion === undefined || apiVersion === "") return [requiredError(path)];
  if (typeof apiVersion !== "string") return [invalidError(path, apiVersion, "must be a string")];
  if (parseApiVersion(apiVersion) !== undefined) return [];
  return [invalidError(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
}

function kindFaults(kind: JsonValue | undefined, path: string): readonly FieldError[] {
  if (kind === undefined || kind === "") return [requiredError(path)];
  if (typeof kind !== "string") return [invalidError(path, kind, "must be a string")];
  const faults = isDNS1035Label(kind.toLowerCase());
  if (faults.length === 0) return [];
  return [invalidError(path, kind, `may have mixed case, but should otherwise match: ${faults.join(",")}`)];
}

function metadataFaults(metadata: JsonValue, path: string): readonly FieldError[] {
  const fault = findMetadataError(metadata);
  if (fault !== undefined) return [invalidError(path, metadata, fault)];
  // Without a fault it has the types of metadata.
  const meta = (metadata ?? {}) as ObjectMeta;
  const named = (meta.name ?? "") === "" ? { ...meta, name: NAME_WHERE_NONE_IS_NEEDED } : meta;
  return validateObjectMeta(named, {
    requiresNamespace: (meta.namespace ?? "") !== "",
    validateName: nameIsPathSegment,
    path,
  });
}

const NAME_WHERE_NONE_IS_NEEDED = "fakename";

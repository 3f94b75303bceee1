// Whether a schema is structural: one type per field, and combinations that only restrict fields declared outside them.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{validation,complete}.go

import {
  childPath,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  keyPath,
  requiredError,
  tooManyError,
} from "../../validation/field-error.ts";
import { propertyOf, type StructuralSchema } from "../structural-schema.ts";
import { validateCombinations, validatePattern } from "./validate-combinations.ts";

type Level = "root" | "item" | "field";

const UNTYPED: { readonly [level in Level]: string } = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

/** Faults of the schema of a whole object, with the paths of its keywords. */
export function validateStructural(schema: StructuralSchema, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  validateNode(schema, "root", path, errors);
  return errors;
}

function validateNode(schema: StructuralSchema, level: Level, path: string, errors: FieldError[]): void {
  validateType(schema, level, path, errors);
  validateExtensions(schema, path, errors);
  validateListAndMapType(schema, path, errors);
  validateResourceFields(schema, level, path, errors);
  validateAdditionalProperties(schema, level, path, errors);
  if (schema.uniqueItems === true) {
    const why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    errors.push(forbiddenError(childPath(path, "uniqueItems"), why));
  }
  errors.push(...validatePattern(schema, path), ...validateCombinations(schema, path));
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    validateNode(property, "field", keyPath(childPath(path, "properties"), name), errors);
  }
  if (schema.items !== undefined) validateNode(schema.items, "item", childPath(path, "items"), errors);
}

function validateType(schema: StructuralSchema, level: Level, path: string, errors: FieldError[]): void {
  const { type } = schema;
  const typePath = childPath(path, "type");
  const isEmbedded = schema["x-kubernetes-embedded-resource"] === true;
  const isUntyped =
    schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (isEmbedded && type !== "object") {
    const rule = "must be object if x-kubernetes-embedded-resource is true";
    errors.push(type === undefined ? requiredError(typePath, rule) : invalidError(typePath, type, rule));
  } else if (type === undefined && !isUntyped) {
    errors.push(requiredError(typePath, UNTYPED[level]));
  }
  if (level === "root" && type !== undefined && type !== "object") {
    errors.push(invalidError(typePath, type, "must be object at the root"));
  }
  if (type === "array" && schema.items === undefined) {
    errors.push(requiredError(childPath(path, "items"), "must be specified"));
  }
}

function validateExtensions(schema: StructuralSchema, path: string, errors: FieldError[]): void {
  const preserve = "x-kubernetes-preserve-unknown-fields";
  const embedded = "x-kubernetes-embedded-resource";
  if (schema["x-kubernetes-int-or-string"] === true) {
    for (const extension of [preserve, embedded] as const) {
      if (schema[extension] !== true) continue;
      errors.push(
        invalidError(childPath(path, extension), true, "must be false if x-kubernetes-int-or-string is true"),
      );
    }
  }
  if (schema[embedded] === true && schema[preserve] !== true && Object.keys(schema.properties ?? {}).length === 0) {
    errors.push(
      requiredError(childPath(path, "properties"), `must not be empty if ${embedded} is true without ${preserve}`),
    );
  }
}

/** Each item is looked at for each key, and may have none of them. Published definitions have at most five. */
const MAX_MAP_KEYS = 32;

function validateListAndMapType(schema: StructuralSchema, path: string, errors: FieldError[]): void {
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const keysPath = childPath(path, "x-kubernetes-list-map-keys");
  const typePath = childPath(path, "type");
  if (listType !== undefined && schema.type !== "array") {
    errors.push(invalidError(typePath, schema.type ?? "", "must be array if x-kubernetes-list-type is specified"));
  }
  if (schema["x-kubernetes-map-type"] !== undefined && schema.type !== "object") {
    errors.push(invalidError(typePath, schema.type ?? "", "must be object if x-kubernetes-map-type is specified"));
  }
  if (listType !== "map") {
    if (keys.length > 0) {
      errors.push(
        requiredError(
          childPath(path, "x-kubernetes-list-type"),
          `must be map if x-kubernetes-list-map-keys is non-empty`,
        ),
      );
    }
    return;
  }
  if (keys.length === 0) errors.push(requiredError(keysPath, "must not be empty if x-kubernetes-list-type is map"));
  if (keys.length > MAX_MAP_KEYS) {
    errors.push(tooManyError(keysPath, keys.length, MAX_MAP_KEYS));
    return;
  }
  for (const [index, key] of keys.entries()) {
    errors.push(...validateMapKey(key, schema.items, childPath(path, "items"), indexPath(keysPath, index)));
  }
}

/** Every item must have the key, and a value that can be compared. */
function validateMapKey(
  key: string,
  items: StructuralSchema = {},
  itemsPath: string,
  path: string,
): readonly FieldError[] {
  const property = propertyOf(items, key);
  const propertyPath = keyPath(childPath(itemsPath, "properties"), key);
  if (property === undefined) return [invalidError(path, key, "entries must all be names of item properties")];
  if (property.type === "object" || property.type === "array") {
    const rule = "must be a scalar type if parent array's x-kubernetes-list-type is map";
    return [invalidError(childPath(propertyPath, "type"), property.type, rule)];
  }
  if (items.required?.includes(key) === true || property.default !== undefined) return [];
  const why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
  return [requiredError(childPath(propertyPath, "default"), why)];
}

/** apiVersion, kind and metadata belong to every kind: a schema may only restrict the names of its objects. */
function validateResourceFields(schema: StructuralSchema, level: Level, path: string, errors: FieldError[]): void {
  if (level !== "root" && schema["x-kubernetes-embedded-resource"] !== true) return;
  const propertiesPath = childPath(path, "properties");
  for (const [name, type] of [
    ["apiVersion", "string"],
    ["kind", "string"],
    ["metadata", "object"],
  ] as const) {
    const property = schema.properties?.[name];
    if (property !== undefined && property.type !== type) {
      errors.push(
        invalidError(childPath(keyPath(propertiesPath, name), "type"), property.type ?? "", `must be ${type}`),
      );
    }
  }
  const { type, properties, description, ...others } = schema.properties?.["metadata"] ?? {};
  const unsupported = Object.keys(properties ?? {}).filter((name) => name !== "name" && name !== "generateName");
  if (level === "root" && (unsupported.length > 0 || Object.keys(others).length > 0)) {
    const why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
    errors.push(forbiddenError(keyPath(propertiesPath, "metadata"), why));
  }
}

function validateAdditionalProperties(
  schema: StructuralSchema,
  level: Level,
  path: string,
  errors: FieldError[],
): void {
  const { additionalProperties, properties } = schema;
  if (additionalProperties === undefined) return;
  const here = childPath(path, "additionalProperties");
  if (additionalProperties === false) errors.push(forbiddenError(here, "additionalProperties cannot be set to false"));
  if (level === "root") errors.push(forbiddenError(here, "must not be used at the root"));
  // `true` adds nothing to declared fields but that others are kept.
  if (Object.keys(properties ?? {}).length > 0 && additionalProperties !== true) {
    errors.push(forbiddenError(here, "additionalProperties and properties are mutual exclusive"));
  }
  if (schema["x-kubernetes-embedded-resource"] === true) {
    errors.push(forbiddenError(here, "must not be used if x-kubernetes-embedded-resource is set"));
  }
  if (typeof additionalProperties === "object") validateNode(additionalProperties, "field", here, errors);
}

// Tells whether a schema is structural: one type per field, combinations that only restrict what is declared outside.
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
} from "../validation/field-error.ts";
import { findPatternError } from "./pattern/pattern.ts";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "./structural-schema.ts";

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

/** apiVersion, kind and metadata are everybody's: a schema may only restrict the names of its objects. */
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
  const strangers = Object.keys(properties ?? {}).filter((name) => name !== "name" && name !== "generateName");
  if (level === "root" && (strangers.length > 0 || Object.keys(others).length > 0)) {
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

// Checks what stands under allOf, anyOf, oneOf and not: it may restrict declared fields, and declare nothing itself.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{validation,complete}.go

const FORBIDDEN: readonly (readonly [keyof StructuralSchema, string])[] = [
  ["type", "must be empty to be structural"],
  ["title", "must be empty to be structural"],
  ["description", "must be empty to be structural"],
  ["default", "must be undefined to be structural"],
  ["additionalProperties", "must be undefined to be structural"],
  ["nullable", "must be false to be structural"],
  ["x-kubernetes-preserve-unknown-fields", "must be false to be structural"],
  ["x-kubernetes-embedded-resource", "must be false to be structural"],
  ["x-kubernetes-int-or-string", "must be false to be structural"],
  ["x-kubernetes-list-map-keys", "must be empty to be structural"],
  ["x-kubernetes-list-type", "must be undefined to be structural"],
  ["x-kubernetes-map-type", "must be undefined to be structural"],
  ["x-kubernetes-validations", "must be empty to be structural"],
];

/** `schema` is the structural part around the combinations. */
function validateCombinations(schema: StructuralSchema, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  validateBranches(schema, schema, path, path, errors);
  return errors;
}

function validateBranches(
  node: StructuralSchema,
  outside: StructuralSchema | undefined,
  path: string,
  outsidePath: string,
  errors: FieldError[],
): void {
  for (const [branch, branchPath] of branchesOf(node, path)) {
    validateBranch(branch, outside, branchPath, outsidePath, errors);
  }
}

/** Schemas that hold for all values may have rules; those that are only one of several ways to be valid may not. */
const mayHaveRules = (path: string): boolean =>
  /\.allOf\[/.test(path) && !/\.(?:anyOf\[|oneOf\[|not(?:\.|$))/.test(path);

/** The two ways to spell int-or-string out are no restrictions of a declared field, and allowed as they are. */
function branchesOf(node: StructuralSchema, path: string): readonly (readonly [StructuralSchema, string])[] {
  const branches: (readonly [StructuralSchema, string])[] = [];
  for (const keyword of ["allOf", "anyOf", "oneOf"] as const) {
    if (keyword === "anyOf" && isIntOrString(node.anyOf)) continue;
    for (const [index, branch] of (node[keyword] ?? []).entries()) {
      branches.push([branch, indexPath(childPath(path, keyword), index)]);
    }
  }
  return node.not === undefined ? branches : [...branches, [node.not, childPath(path, "not")]];
}

function isIntOrString(branches: readonly StructuralSchema[] | undefined): boolean {
  const types = (branches ?? []).map((branch) => (Object.keys(branch).length === 1 ? branch.type : undefined));
  return types.length === 2 && types[0] === "integer" && types[1] === "string";
}

function validateBranch(
  branch: StructuralSchema,
  outside: StructuralSchema | undefined,
  path: string,
  outsidePath: string,
  errors: FieldError[],
): void {
  for (const [keyword, why] of FORBIDDEN) {
    if (keyword === "x-kubernetes-validations" && mayHaveRules(path)) continue;
    if (branch[keyword] !== undefined && branch[keyword] !== false) {
      errors.push(forbiddenError(childPath(path, keyword), why));
    }
  }
  errors.push(...validatePattern(branch, path));
  for (const [name, property] of Object.entries(branch.properties ?? {})) {
    const here = keyPath(childPath(path, "properties"), name);
    const declaredAt = keyPath(childPath(outsidePath, "properties"), name);
    if (name === "metadata") errors.push(forbiddenError(here, "must not be specified in a nested context"));
    const declared = outside && (propertyOf(outside, name) ?? valueSchemaOf(outside));
    if (outside !== undefined && declared === undefined) {
      errors.push(requiredError(declaredAt, `because it is defined in ${here}`));
    }
    validateBranch(property, declared, here, declaredAt, errors);
  }
  if (branch.items !== undefined) {
    const here = childPath(path, "items");
    const declaredAt = childPath(outsidePath, "items");
    if (outside !== undefined && outside.items === undefined) {
      errors.push(requiredError(declaredAt, `because it is defined in ${here}`));
    }
    validateBranch(branch.items, outside?.items, here, declaredAt, errors);
  }
  validateBranches(branch, outside, path, outsidePath, errors);
}

function validatePattern({ pattern }: StructuralSchema, path: string): readonly FieldError[] {
  const fault = pattern === undefined ? undefined : findPatternError(pattern);
  if (fault === undefined) return [];
  return [invalidError(childPath(path, "pattern"), pattern, `must be a valid regular expression, but isn't: ${fault}`)];
}

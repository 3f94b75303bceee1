// Checks the schemas under allOf, anyOf, oneOf and not: they may restrict declared fields, and declare none themselves.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/{validation,complete}.go

import {
  childPath,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  keyPath,
  requiredError,
} from "../../validation/field-error.ts";
import { findPatternError } from "../pattern/pattern.ts";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "../structural-schema.ts";

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
export function validateCombinations(schema: StructuralSchema, path: string): readonly FieldError[] {
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

/** The two ways to write int-or-string do not restrict a declared field, and are allowed. */
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

export function validatePattern({ pattern }: StructuralSchema, path: string): readonly FieldError[] {
  const fault = pattern === undefined ? undefined : findPatternError(pattern);
  if (fault === undefined) return [];
  return [invalidError(childPath(path, "pattern"), pattern, `must be a valid regular expression, but isn't: ${fault}`)];
}

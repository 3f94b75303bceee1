// Reads a schema from JSON, as a CustomResourceDefinition carries it: known keywords of the right type, nothing else.
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import {
  childPath,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  keyPath,
  notSupportedError,
} from "../../validation/field-error.ts";
import type { StructuralSchema } from "../structural-schema.ts";

export type ReadSchema = { readonly schema: StructuralSchema; readonly errors: readonly FieldError[] };

type KeywordKind =
  | "string"
  | "boolean"
  | "number"
  | "count"
  | "strings"
  | "values"
  | "value"
  | "schema"
  | "schemas"
  | "properties"
  | "additionalProperties"
  | "documentation"
  | "unsupported";

const KEYWORDS: ReadonlyMap<string, KeywordKind> = new Map<string, KeywordKind>([
  ...(["type", "title", "description", "format", "pattern"] as const).map((name) => [name, "string"] as const),
  ...(["nullable", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems"] as const).map((n) => [n, "boolean"] as const),
  ...(["minimum", "maximum", "multipleOf"] as const).map((name) => [name, "number"] as const),
  ...(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] as const).map(
    (name) => [name, "count"] as const,
  ),
  ...(["allOf", "anyOf", "oneOf"] as const).map((name) => [name, "schemas"] as const),
  ...(["items", "not"] as const).map((name) => [name, "schema"] as const),
  ["default", "value"],
  ["enum", "values"],
  ["required", "strings"],
  ["properties", "properties"],
  ["additionalProperties", "additionalProperties"],
  ["x-kubernetes-preserve-unknown-fields", "boolean"],
  ["x-kubernetes-embedded-resource", "boolean"],
  ["x-kubernetes-int-or-string", "boolean"],
  ["x-kubernetes-list-type", "string"],
  ["x-kubernetes-list-map-keys", "strings"],
  ["x-kubernetes-map-type", "string"],
  ["x-kubernetes-validations", "values"],
  ...(["example", "externalDocs"] as const).map((name) => [name, "documentation"] as const),
  ...(["$ref", "definitions", "dependencies", "id", "patternProperties", "additionalItems"] as const).map(
    (name) => [name, "unsupported"] as const,
  ),
]);

const CHOICES: ReadonlyMap<string, readonly string[]> = new Map([
  ["type", ["array", "boolean", "integer", "number", "object", "string"]],
  ["x-kubernetes-list-type", ["atomic", "map", "set"]],
  ["x-kubernetes-map-type", ["atomic", "granular"]],
]);

/** Levels of schemas in schemas. Objects nest less, and deeper ones could exhaust the stack. */
const MAX_DEPTH = 200;

/** Keywords that are unknown or documentation only are left out, as the decoder of a definition does. */
export function readSchema(json: JsonValue, path: string): ReadSchema {
  const errors: FieldError[] = [];
  return { schema: readObject(json, path, 0, errors), errors };
}

function readObject(json: JsonValue, path: string, depth: number, errors: FieldError[]): StructuralSchema {
  if (depth > MAX_DEPTH) {
    errors.push(forbiddenError(path, `schemas must not nest deeper than ${MAX_DEPTH} levels`));
    return {};
  }
  if (!isJsonObject(json)) {
    errors.push(invalidError(path, json, "must be an object"));
    return {};
  }
  const read: { [keyword: string]: unknown } = {};
  for (const [keyword, value] of Object.entries(json)) {
    const kind = KEYWORDS.get(keyword);
    if (kind === undefined || kind === "documentation" || value === undefined || value === null) continue;
    const keywordValue = readKeyword(kind, keyword, value, childPath(path, keyword), depth + 1, errors);
    if (keywordValue !== undefined) read[keyword] = keywordValue;
  }
  // Every member was read by the kind that KEYWORDS gives it, which is its type in StructuralSchema.
  return read as StructuralSchema;
}

/** undefined when there is a fault. */
function readKeyword(
  kind: KeywordKind,
  keyword: string,
  value: JsonValue,
  path: string,
  depth: number,
  errors: FieldError[],
): unknown {
  const refuse = (rule: string): undefined => {
    errors.push(invalidError(path, value, rule));
  };
  switch (kind) {
    case "string": {
      if (typeof value !== "string") return refuse("must be a string");
      const choices = CHOICES.get(keyword);
      if (choices === undefined || choices.includes(value)) return value;
      errors.push(notSupportedError(path, value, choices));
      return undefined;
    }
    case "boolean":
      return typeof value === "boolean" ? value : refuse("must be a boolean");
    case "number":
      return typeof value === "number" || typeof value === "bigint" ? Number(value) : refuse("must be a number");
    case "count":
      return Number.isSafeInteger(value) && Number(value) >= 0 ? value : refuse("must be a non-negative integer");
    case "strings":
      return isStringArray(value) ? value : refuse("must be a list of strings");
    case "values":
      return isJsonArray(value) ? value : refuse("must be a list");
    case "value":
      return value;
    case "schema":
      return readObject(value, path, depth, errors);
    case "schemas":
      if (!isJsonArray(value)) return refuse("must be a list of schemas");
      return value.map((item, index) => readObject(item, indexPath(path, index), depth, errors));
    case "properties":
      return isJsonObject(value) ? readProperties(value, path, depth, errors) : refuse("must be an object of schemas");
    case "additionalProperties":
      return typeof value === "boolean" ? value : readObject(value, path, depth, errors);
    case "unsupported":
      errors.push(forbiddenError(path, `${keyword} is not supported`));
      return undefined;
    case "documentation":
      return undefined;
  }
}

function readProperties(properties: JsonObject, path: string, depth: number, errors: FieldError[]) {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      readObject(property ?? null, keyPath(path, name), depth, errors),
    ]),
  );
}

const isStringArray = (value: JsonValue): value is readonly string[] =>
  isJsonArray(value) && value.every((item) => typeof item === "string");

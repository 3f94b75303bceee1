// Checks that sets contain each item once, and map lists each key once.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go

import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import {
  childPath,
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  keyPath,
} from "../validation/field-error.ts";
import { formatGoValue } from "../validation/go-syntax.ts";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "./structural-schema.ts";

/** Faults below `path`. Values of a wrong type are skipped: they are the schema validation's business. */
export function validateListTypes(value: JsonValue, schema: StructuralSchema, path: string): readonly FieldError[] {
  if (!hasUniqueList(schema)) return [];
  const errors: FieldError[] = [];
  check(value, schema, path, errors);
  return errors;
}

function check(value: JsonValue | undefined, schema: StructuralSchema, path: string, errors: FieldError[]): void {
  if (isJsonArray(value)) {
    checkArray(value, schema, path, errors);
  } else if (isJsonObject(value)) {
    const valueSchema = valueSchemaOf(schema);
    for (const name of Object.keys(value)) {
      const property = propertyOf(schema, name);
      if (property !== undefined) {
        if (hasUniqueList(property)) check(value[name], property, childPath(path, name), errors);
      } else if (valueSchema !== undefined && hasUniqueList(valueSchema)) {
        check(value[name], valueSchema, keyPath(path, name), errors);
      }
    }
  }
}

function checkArray(array: JsonArray, schema: StructuralSchema, path: string, errors: FieldError[]): void {
  const listType = schema["x-kubernetes-list-type"];
  if (listType === "set") errors.push(...validateSet(array, path));
  if (listType === "map") errors.push(...validateMapList(array, schema["x-kubernetes-list-map-keys"] ?? [], path));
  if (schema.items === undefined || !hasUniqueList(schema.items)) return;
  for (const [index, item] of array.entries()) check(item, schema.items, indexPath(path, index), errors);
}

function validateSet(array: JsonArray, path: string): readonly FieldError[] {
  return duplicateIndexes(array).map((index) => {
    const item = array[index] ?? null;
    return duplicateError(indexPath(path, index), item);
  });
}

function validateMapList(array: JsonArray, keys: readonly string[], path: string): readonly FieldError[] {
  const isMisfit = (item: JsonValue): boolean => item !== null && !isJsonObject(item);
  if (array.some(isMisfit)) {
    const misfits = [...array.entries()].filter(([, item]) => isMisfit(item));
    return misfits.map(([index, item]) =>
      invalidError(indexPath(path, index), item, "must be an object for an array of list-type map"),
    );
  }
  if (array.length < 2) return [];
  const names = new Set(keys);
  const itemKeys = array.map((item) => keyOf(item, names));
  return duplicateIndexes(itemKeys).map((index) => {
    const key = itemKeys[index] ?? null;
    return duplicateError(indexPath(path, index), key);
  });
}

/** The key members that an item has. Two items without any are the same item. A schema may have more keys than an item has members. */
function keyOf(item: JsonValue, keys: ReadonlySet<string>): JsonObject {
  if (!isJsonObject(item)) return {};
  return Object.fromEntries(Object.entries(item).filter(([name, value]) => keys.has(name) && value !== undefined));
}

/** Index of the second occurrence of a value; further occurrences are not reported. */
function duplicateIndexes(values: readonly JsonValue[]): readonly number[] {
  if (values.length < 2) return [];
  const counts = new Map<JsonValue, number>();
  const duplicates: number[] = [];
  for (const [index, value] of values.entries()) {
    const identity = identityOf(value);
    const count = (counts.get(identity) ?? 0) + 1;
    counts.set(identity, count);
    if (count === 2) duplicates.push(index);
  }
  return duplicates;
}

/** Scalars are their own text; the NUL separates the text of a list or map from strings that look like it. */
const identityOf = (value: JsonValue): JsonValue =>
  typeof value === "object" && value !== null ? `\0${formatGoValue(value)}` : value;

/** Whether any list below is a set or a map, so that most of an object is never walked. Looked for once: schemas never change. */
function hasUniqueList(schema: StructuralSchema): boolean {
  const known = withUniqueList.get(schema);
  if (known !== undefined) return known;
  const found = findUniqueList(schema);
  withUniqueList.set(schema, found);
  return found;
}

const withUniqueList = new WeakMap<StructuralSchema, boolean>();

function findUniqueList(schema: StructuralSchema): boolean {
  const listType = schema["x-kubernetes-list-type"];
  if (listType === "set" || listType === "map") return true;
  if (schema.items !== undefined && hasUniqueList(schema.items)) return true;
  const valueSchema = valueSchemaOf(schema);
  if (valueSchema !== undefined && hasUniqueList(valueSchema)) return true;
  return Object.values(schema.properties ?? {}).some(hasUniqueList);
}

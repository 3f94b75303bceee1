// Finds a value of a type that the field of a built-in kind cannot hold, and says so in the words of Go's decoder.
// Source: encoding/json (UnmarshalTypeError)

import { goKindOf } from "@postern/apimachinery/json/go-kind";
import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";

/** Undefined when every value fits. Null fits everywhere. `structName` is what the message calls the object. */
export function findTypeFault(
  value: JsonValue,
  schema: StructuralSchema,
  structName: string,
  path: readonly string[] = [],
): string | undefined {
  if (value === null || schema.type === undefined || schema["x-kubernetes-int-or-string"] === true) return undefined;
  if (!fits(value, schema.type)) {
    const field = path.length === 0 ? "" : `Go struct field ${structName}.${path.join(".")} of type `;
    return `json: cannot unmarshal ${describe(value)} into ${field || "Go value of type "}${goTypeOf(schema, structName)}`;
  }
  if (isJsonArray(value)) {
    const { items } = schema;
    if (items === undefined) return undefined;
    return firstDefined(value, (item) => findTypeFault(item, items, structName, path));
  }
  if (!isJsonObject(value)) return undefined;
  return firstDefined(Object.entries(value), ([name, member = null]) => {
    const property = propertyOf(schema, name);
    if (property !== undefined) return findTypeFault(member, property, structName, [...path, name]);
    const values = valueSchemaOf(schema);
    return values === undefined ? undefined : findTypeFault(member, values, structName, path);
  });
}

function fits(value: JsonValue, type: NonNullable<StructuralSchema["type"]>): boolean {
  switch (type) {
    case "object":
      return isJsonObject(value);
    case "array":
      return isJsonArray(value);
    case "integer":
      return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
    case "number":
      return typeof value === "bigint" || typeof value === "number";
    default:
      return typeof value === type;
  }
}

/** Numbers that are none of the wanted kind are shown. */
const describe = (value: JsonValue): string =>
  typeof value === "number" && !Number.isInteger(value) ? `number ${value}` : goKindOf(value);

function goTypeOf(schema: StructuralSchema, structName: string): string {
  const { type, format, items } = schema;
  const values = valueSchemaOf(schema);
  if (type === "array") return `[]${items === undefined ? "interface {}" : goTypeOf(items, structName)}`;
  if (type === "object")
    return values === undefined ? `v1.${structName}` : `map[string]${goTypeOf(values, structName)}`;
  if (type === "integer") return format === "int32" ? "int32" : "int64";
  if (type === "number") return "float64";
  return type === "boolean" ? "bool" : "string";
}

function firstDefined<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

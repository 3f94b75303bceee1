// The texts for values of a wrong type that a strategic merge patch leads to: upstream converts the patched object without JSON in between.
// Source: k8s.io/apimachinery/pkg/runtime/converter.go (fromUnstructured)

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";
import { findBase64Error } from "@postern/apimachinery/text/base64-error";
import { formatGoFloat } from "@postern/apimachinery/validation/go-syntax";

/** Undefined if no value has a wrong type, or the type decodes itself from JSON, as times and amounts do. */
export function findConversionFault(value: JsonValue, schema: StructuralSchema): string | undefined {
  const { type, format, isQuantity, items } = schema;
  if (value === null || type === undefined || isQuantity === true || format === "date-time") return undefined;
  if (schema["x-kubernetes-int-or-string"] === true) return undefined;
  if (type === "string" && format === "byte") return bytesFault(value);
  if (type === "array") {
    if (!isJsonArray(value)) return `cannot restore slice from ${goKind(value)}`;
    return items === undefined ? undefined : firstFault(value, () => items);
  }
  if (type !== "object") return scalarFault(value, schema);
  const values = valueSchemaOf(schema);
  if (!isJsonObject(value)) {
    return values === undefined
      ? `cannot restore struct from: ${goKind(value)}`
      : `cannot restore map from ${goKind(value)}`;
  }
  const names = Object.keys(value);
  return firstFault(
    names.map((name) => value[name] ?? null),
    (index) => propertyOf(schema, names[index] ?? "") ?? values,
  );
}

function firstFault(
  values: readonly JsonValue[],
  schemaOf: (index: number) => StructuralSchema | undefined,
): string | undefined {
  for (const [index, value] of values.entries()) {
    const schema = schemaOf(index);
    const fault = schema === undefined ? undefined : findConversionFault(value, schema);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function bytesFault(value: JsonValue): string | undefined {
  if (typeof value !== "string") return `cannot restore slice from ${goKind(value)}`;
  const fault = findBase64Error(value);
  return fault === undefined ? undefined : `error decoding from json: ${fault}`;
}

function scalarFault(value: JsonValue, { type, format }: StructuralSchema): string | undefined {
  const kind = goKind(value);
  const isNumber = kind === "int64" || kind === "float64";
  if (type === "boolean") return kind === "bool" ? undefined : "unrecognized type: bool";
  if (type === "number") return isNumber ? undefined : "unrecognized type: float64";
  if (type === "string") {
    if (kind === "string") return undefined;
    return kind === "int64" ? "cannot convert int64 to string" : "unrecognized type: string";
  }
  const wanted = format === "int32" ? "int32" : "int64";
  if (kind === "int64") return undefined;
  return kind === "float64" ? `cannot convert float64 to ${wanted}` : `unrecognized type: ${wanted}`;
}

/** As Go's reflection names the kind of a value. */
function goKind(value: JsonValue): string {
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int64";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  if (typeof value === "string") return "string";
  return isJsonArray(value) ? "slice" : "map";
}

/** A patch as Go's `%+v` prints it. */
export function goText(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return "<nil>";
  if (isJsonArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (isJsonObject(value)) return `map[${members(value).join(" ")}]`;
  return typeof value === "number" && !Number.isInteger(value) ? formatGoFloat(value) : String(value);
}

const members = (value: JsonObject): readonly string[] =>
  Object.keys(value)
    .sort()
    .map((name) => `${name}:${goText(value[name])}`);

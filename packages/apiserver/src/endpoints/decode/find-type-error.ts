// Finds values of a wrong type in fields of built-in kinds, with the messages of Go's decoder.
// Source: encoding/json (UnmarshalTypeError)

import { goKindOf, isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { goMember } from "@postern/apimachinery/protobuf/kubernetes-messages";
import { canonicalQuantity } from "@postern/apimachinery/quantity/quantity";
import { propertyOf, type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";
import { findBase64Error } from "@postern/apimachinery/text/base64-error";
import { parseGoTime } from "@postern/apimachinery/time/parse-go-time";

/**
 * Undefined when every value fits. Null fits everywhere. `structName` is what the message calls the object; `path` is where the value
 * stands, and is changed on the way. `message`: the protobuf message of the kind, by which Go's types are named.
 */
export function findTypeError(
  value: JsonValue,
  schema: StructuralSchema,
  structName: string,
  message?: string,
  path: string[] = [],
): string | undefined {
  if (schema.isQuantity === true) return findQuantityFault(value);
  if (value === null || schema.type === undefined || schema["x-kubernetes-int-or-string"] === true) return undefined;
  if (!fits(value, schema)) {
    const member = (message === undefined ? undefined : goMember(message, path)) ?? {
      struct: structAt(path.slice(0, -1), structName),
      path: path.join("."),
      type: `v1.${structAt(path, structName)}`,
    };
    const place = path.length === 0 ? "Go value" : `Go struct field ${member.struct}.${member.path}`;
    return `json: cannot unmarshal ${describe(value, schema)} into ${place} of type ${goTypeOf(schema, member.type)}`;
  }
  if (typeof value === "string") return findTextFault(value, schema);
  if (isJsonArray(value)) {
    const { items } = schema;
    if (items === undefined) return undefined;
    return firstDefined(value, (item) => findTypeError(item, items, structName, message, path));
  }
  if (!isJsonObject(value)) return undefined;
  const values = valueSchemaOf(schema);
  for (const name of Object.keys(value)) {
    const member = value[name] ?? null;
    const property = propertyOf(schema, name);
    if (property !== undefined) path.push(name);
    const declared = property ?? values;
    const fault = declared === undefined ? undefined : findTypeError(member, declared, structName, message, path);
    if (fault !== undefined) return fault;
    if (property !== undefined) path.pop();
  }
  return undefined;
}

/** Amounts decode themselves. Source: k8s.io/apimachinery/pkg/api/resource/quantity.go (ErrFormatWrong) */
function findQuantityFault(value: JsonValue): string | undefined {
  if (value === null || value === "") return undefined;
  // A list, or an object, has no text: what JavaScript makes of them could be one of an amount, or an error.
  if (typeof value !== "object" && canonicalQuantity(String(value)) !== undefined) return undefined;
  return "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
}

/** Times and bytes decode themselves, so that their faults name no field. */
function findTextFault(text: string, { format, isMicroTime }: StructuralSchema): string | undefined {
  if (format === "byte") return findBase64Error(text);
  if (format !== "date-time") return undefined;
  const time = parseGoTime(text, isMicroTime === true ? "microsecond" : "second");
  return "fault" in time ? time.fault : undefined;
}

/** Fields whose Go type, or that of their items, is not named after them. */
const FIELD_TYPES: { readonly [field: string]: string } = {
  metadata: "ObjectMeta",
  rules: "PolicyRule",
  subjects: "Subject",
  clusterRoleSelectors: "LabelSelector",
  imagePullSecrets: "LocalObjectReference",
  matchExpressions: "LabelSelectorRequirement",
  involvedObject: "ObjectReference",
  boundObjectRef: "BoundObjectReference",
  related: "ObjectReference",
  source: "EventSource",
  series: "EventSeries",
  fieldSelector: "FieldSelectorAttributes",
  labelSelector: "LabelSelectorAttributes",
};

/** The Go type at a path. In its texts, Go names the innermost struct and then the path from the outermost. */
function structAt(path: readonly string[], structName: string): string {
  const name = path.at(-1);
  if (name === undefined) return structName;
  const capitalized = `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
  const isPart = path.length === 1 && (name === "spec" || name === "status");
  return isPart ? `${structName}${capitalized}` : (FIELD_TYPES[name] ?? capitalized);
}

/** The highest number of a type; the lowest is one further from zero. */
const MAX_INT32 = 2 ** 31 - 1;
const MAX_INT64 = 2n ** 63n - 1n;

function isInteger(value: JsonValue, format: string | undefined): boolean {
  if (typeof value !== "bigint" && !(typeof value === "number" && Number.isInteger(value))) return false;
  if (format === "int32") return value <= MAX_INT32 && value >= -MAX_INT32 - 1;
  return value <= MAX_INT64 && value >= -MAX_INT64 - 1n;
}

function fits(value: JsonValue, { type, format }: StructuralSchema): boolean {
  switch (type) {
    case "object":
      return isJsonObject(value);
    case "array":
      return isJsonArray(value);
    case "integer":
      return isInteger(value, format);
    case "number":
      return typeof value === "bigint" || typeof value === "number";
    default:
      return typeof value === type;
  }
}

/** Numbers where a number is wanted, but another, are shown. */
const describe = (value: JsonValue, schema: StructuralSchema): string =>
  schema.type === "integer" && goKindOf(value) === "number" ? `number ${value}` : goKindOf(value);

function goTypeOf(schema: StructuralSchema, typeName: string): string {
  const { type, format, items } = schema;
  const values = valueSchemaOf(schema);
  if (type === "array") return `[]${items === undefined ? "interface {}" : goTypeOf(items, typeName)}`;
  if (type === "object") return values === undefined ? typeName : `map[string]${goTypeOf(values, typeName)}`;
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

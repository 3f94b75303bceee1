// Finds metadata of a wrong JSON type and reports it as Go's decoder does: such an object cannot be decoded at all.
// Source: https://pkg.go.dev/encoding/json#UnmarshalTypeError

import { goKindOf, isJsonArray, isJsonObject, type JsonValue } from "../../json/json-value.ts";
import { isCanonicalTimestamp } from "../../time/timestamp.ts";

/** A Go type: what JSON it takes, and how its decoder names it. */
type GoType =
  | { readonly kind: "string" | "bool" | "int64" | "time" | "raw"; readonly name: string }
  | { readonly kind: "map" | "slice"; readonly name: string; readonly element: GoType }
  | { readonly kind: "struct"; readonly name: string; readonly fields: { readonly [name: string]: GoType } };

const text: GoType = { kind: "string", name: "string" };
const uid: GoType = { kind: "string", name: "types.UID" };
const bool: GoType = { kind: "bool", name: "bool" };
const int64: GoType = { kind: "int64", name: "int64" };
export const time: GoType = { kind: "time", name: "string" };
const raw: GoType = { kind: "raw", name: "" };
const stringMap: GoType = { kind: "map", name: "map[string]string", element: text };
const sliceOf = (element: GoType): GoType => ({ kind: "slice", name: `[]${element.name}`, element });

const ownerReference: GoType = {
  kind: "struct",
  name: "v1.OwnerReference",
  fields: { apiVersion: text, kind: text, name: text, uid, controller: bool, blockOwnerDeletion: bool },
};

const managedFieldsEntry: GoType = {
  kind: "struct",
  name: "v1.ManagedFieldsEntry",
  fields: {
    manager: text,
    operation: { kind: "string", name: "v1.ManagedFieldsOperationType" },
    apiVersion: text,
    time,
    fieldsType: text,
    fieldsV1: raw,
    subresource: text,
  },
};

const objectMeta: GoType = {
  kind: "struct",
  name: "v1.ObjectMeta",
  fields: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid,
    resourceVersion: text,
    generation: int64,
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: int64,
    labels: stringMap,
    annotations: stringMap,
    ownerReferences: sliceOf(ownerReference),
    finalizers: sliceOf(text),
    managedFields: sliceOf(managedFieldsEntry),
  },
};

/**
 * The first fault, such as `json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`;
 * undefined when metadata can be read. The server answers 400 with it. Metadata of a custom resource is read by itself; of a kind that
 * has a Go type, which is then given, it is read with the object: `ObjectMeta.metadata.labels`.
 */
export function findMetadataError(metadata: JsonValue, goType?: string): string | undefined {
  const place = goType === undefined ? { struct: "", fields: [] } : { struct: goType, fields: ["metadata"] };
  return findFault(metadata, objectMeta, place);
}

/** The innermost struct, and the fields on the way from the root. */
type Place = { readonly struct: string; readonly fields: readonly string[] };

function findFault(value: JsonValue, type: GoType, place: Place): string | undefined {
  if (value === null || type.kind === "raw") return undefined;
  switch (type.kind) {
    case "string":
      return typeof value === "string" ? undefined : mismatch(value, type, place);
    case "bool":
      return typeof value === "boolean" ? undefined : mismatch(value, type, place);
    case "int64":
      return isInt64(value) ? undefined : mismatch(value, type, place);
    case "time":
      return findTimeFault(value);
    case "map":
      return isJsonObject(value) ? findFirst(Object.values(value), type.element, place) : mismatch(value, type, place);
    case "slice":
      return isJsonArray(value) ? findFirst(value, type.element, place) : mismatch(value, type, place);
    case "struct":
      return isJsonObject(value) ? findFieldFault(value, type, place) : mismatch(value, type, place);
  }
}

function findFirst(values: readonly (JsonValue | undefined)[], type: GoType, place: Place): string | undefined {
  for (const value of values) {
    const fault = value === undefined ? undefined : findFault(value, type, place);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function findFieldFault(
  object: { readonly [name: string]: JsonValue | undefined },
  type: GoType & { readonly kind: "struct" },
  place: Place,
): string | undefined {
  const struct = type.name.slice(type.name.indexOf(".") + 1);
  for (const name of Object.keys(object)) {
    const value = object[name];
    const field = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined;
    if (value === undefined || field === undefined) continue;
    const fault = findFault(value, field, { struct, fields: [...place.fields, name] });
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function mismatch(value: JsonValue, type: GoType, { struct, fields }: Place): string {
  const where = fields.length === 0 ? "Go value" : `Go struct field ${struct}.${fields.join(".")}`;
  const found = type.kind === "int64" && typeof value === "number" ? `number ${value}` : goKindOf(value);
  return `json: cannot unmarshal ${found} into ${where} of type ${type.name}`;
}

const isInt64 = (value: JsonValue): boolean =>
  typeof value === "number"
    ? Number.isSafeInteger(value)
    : typeof value === "bigint" && value >= -(2n ** 63n) && value < 2n ** 63n;

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

/** Times decode themselves, so that their faults name no field. */
function findTimeFault(value: JsonValue): string | undefined {
  if (typeof value !== "string") return `json: cannot unmarshal ${goKindOf(value)} into Go value of type string`;
  if (isCanonicalTimestamp(value)) return undefined;
  if (RFC3339.test(value) && !Number.isNaN(Date.parse(value))) return undefined;
  const quoted = JSON.stringify(value);
  const rest = JSON.stringify(value.slice(/^\d{4}/.test(value) ? 4 : 0));
  const expected = /^\d{4}/.test(value) ? "-" : "2006";
  return `parsing time ${quoted} as "2006-01-02T15:04:05Z07:00": cannot parse ${rest} as "${expected}"`;
}

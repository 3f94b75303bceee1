// Turns received metadata into what a server keeps: known fields of the right type, nothing empty, times in UTC.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go

import { goKindOf, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { badRequestError } from "../meta/api-error.ts";
import type { ObjectMeta } from "../meta/object-meta.ts";
import { isCanonicalTimestamp } from "../time/timestamp.ts";
import { type MemberChanges, withMemberChanges } from "./member-changes.ts";
import { objectMetaSchema } from "./object-meta-schema.ts";
import { pruneUnknownFields } from "./prune.ts";

export type CoercedMetadata = {
  readonly metadata: ObjectMeta;
  /** Such as `metadata.bogus`. */
  readonly unknownPaths: readonly string[];
};

const TIMES = new Set(["creationTimestamp", "deletionTimestamp", "time"]);

/**
 * Throws 400 when metadata is of a wrong JSON type. `kind` and `version` are those of the object, for the message, whose paths begin at
 * the object for a kind that has a Go type upstream.
 */
export function coerceMetadata(
  metadata: JsonValue | undefined,
  kind: string,
  version: string,
  hasGoType = false,
): CoercedMetadata {
  if (metadata === undefined || metadata === null) return { metadata: {}, unknownPaths: [] };
  const fault = findMetadataError(metadata, hasGoType ? kind : undefined);
  if (fault !== undefined) {
    throw badRequestError(`${kind} in version "${version}" cannot be handled as a ${kind}: ${fault}`);
  }
  return conformMetadata(metadata, "metadata");
}

/** Like `coerceMetadata`, for metadata without errors. `path` is its place in the object. */
export function conformMetadata(metadata: JsonValue, path: string): CoercedMetadata {
  const { value, unknownPaths } = pruneUnknownFields(metadata, objectMetaSchema);
  return {
    // A value without faults that holds known fields only is ObjectMeta.
    metadata: normalize(isJsonObject(value) ? value : {}) as ObjectMeta,
    unknownPaths: unknownPaths.map((unknown) => `${path}.${unknown}`),
  };
}

/** The members as after decoding into a Go struct and writing it out again; the same object when nothing changes. */
function normalize(metadata: JsonObject): JsonObject {
  let changes: MemberChanges | undefined;
  for (const name of Object.keys(metadata)) {
    const member = metadata[name];
    const kept = member === undefined ? undefined : normalizeMember(name, member);
    if (kept === member) continue;
    changes ??= new Map();
    changes.set(name, kept);
  }
  return withMemberChanges(metadata, changes);
}

/** undefined drops the member. A grace period of 0 seconds is a value, while generation 0 is empty. */
function normalizeMember(name: string, member: JsonValue): JsonValue | undefined {
  if (member === null || member === "" || name === "selfLink") return undefined;
  if (name === "generation" && member === 0) return undefined;
  if (TIMES.has(name)) return toUtc(member);
  if (isJsonArray(member)) return member.length === 0 ? undefined : normalizeItems(name, member);
  if (isJsonObject(member)) return Object.keys(member).length === 0 ? undefined : withoutNulls(member);
  return member;
}

function normalizeItems(name: string, items: readonly JsonValue[]): JsonValue {
  if (name === "ownerReferences") return items.every(isWholeReference) ? items : items.map(wholeReference);
  const isClean = items.every((item) => item !== null && (name !== "managedFields" || isUtc(item)));
  if (isClean) return items;
  return items.map((item) => {
    if (item === null) return name === "finalizers" ? "" : {};
    return isJsonObject(item) && item["time"] !== undefined ? { ...item, time: toUtc(item["time"]) } : item;
  });
}

/** Members that every reference to an owner has in Go, also when nothing was sent. */
const EMPTY_REFERENCE = { apiVersion: "", kind: "", name: "", uid: "" };

const isWholeReference = (item: JsonValue): boolean =>
  isJsonObject(item) && Object.keys(EMPTY_REFERENCE).every((member) => item[member] !== undefined);

const wholeReference = (item: JsonValue): JsonObject => ({ ...EMPTY_REFERENCE, ...(isJsonObject(item) ? item : {}) });

const isUtc = (entry: JsonValue): boolean =>
  !isJsonObject(entry) || entry["time"] === undefined || toUtc(entry["time"]) === entry["time"];

/** A null label or annotation is an empty one. */
function withoutNulls(map: JsonObject): JsonObject {
  let changes: MemberChanges | undefined;
  for (const key of Object.keys(map)) {
    if (map[key] !== null) continue;
    changes ??= new Map();
    changes.set(key, "");
  }
  return withMemberChanges(map, changes);
}

/** Whole seconds in UTC. Other texts stay unchanged. */
const toUtc = (time: JsonValue): JsonValue =>
  typeof time !== "string" || isCanonicalTimestamp(time) ? time : `${new Date(time).toISOString().slice(0, 19)}Z`;

// Finds metadata of a wrong JSON type and says so as Go's decoder does, since such an object cannot be read at all.
// Source: https://pkg.go.dev/encoding/json#UnmarshalTypeError

/** A Go type: what JSON it takes, and how its decoder names it. */
type GoType =
  | { readonly kind: "string" | "bool" | "int64" | "time" | "raw"; readonly name: string }
  | { readonly kind: "map" | "slice"; readonly name: string; readonly element: GoType }
  | { readonly kind: "struct"; readonly name: string; readonly fields: { readonly [name: string]: GoType } };

const text: GoType = { kind: "string", name: "string" };
const uid: GoType = { kind: "string", name: "types.UID" };
const bool: GoType = { kind: "bool", name: "bool" };
const int64: GoType = { kind: "int64", name: "int64" };
const time: GoType = { kind: "time", name: "string" };
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

// Turns received metadata into what a server keeps: known fields of the right type, nothing empty, times in UTC.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import { badRequestError } from "../../meta/api-error.ts";
import type { ObjectMeta } from "../../meta/object-meta.ts";
import { isCanonicalTimestamp } from "../../time/timestamp.ts";
import { type MemberChanges, withMemberChanges } from "../member-changes.ts";
import { objectMetaSchema } from "../object-meta-schema.ts";
import { pruneUnknownFields } from "../prune.ts";
import { findMetadataError } from "./find-metadata-error.ts";

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

// Reads and writes metadata.managedFields.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/managedfields.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { ManagedFieldsEntry, Timestamp } from "@postern/apimachinery/meta/object-meta";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { parseFieldsV1, toFieldsV1 } from "../fieldpath/fields-v1.ts";
import { PathElementError } from "../fieldpath/path-element.ts";
import { formatOwnerId, isOwnerName, parseOwnerId } from "./owner-id.ts";
import type { Owners, VersionedSet } from "./versioned-set.ts";

/** Owners of fields, and the times of their writes. An owner whose apply changed nothing has no time. */
export type Managed = { readonly owners: Owners; readonly times: ReadonlyMap<string, Timestamp> };

export const NOTHING_MANAGED: Managed = { owners: new Map(), times: new Map() };

/** Managed fields that cannot be read. */
export class ManagedFieldsError extends Error {
  override readonly name = "ManagedFieldsError";
}

/**
 * Reads what the server itself has written, which is canonical.
 * @throws ManagedFieldsError or PathElementError when it is no list of valid entries.
 */
export const decodeStoredManagedFields = (managedFields: JsonValue | undefined): Steps<Managed> =>
  decodeEntries(managedFields, true);

/** Reads what a client has sent; undefined when any of it is invalid. */
export function* decodeSentManagedFields(managedFields: JsonValue | undefined): Steps<Managed | undefined> {
  try {
    return yield* decodeEntries(managedFields, false);
  } catch (error) {
    if (isManagedFieldsError(error)) return undefined;
    throw error;
  }
}

export const isManagedFieldsError = (error: unknown): error is Error =>
  error instanceof ManagedFieldsError || error instanceof PathElementError;

/** A step for each owner. */
function* decodeEntries(managedFields: JsonValue | undefined, isCanonical: boolean): Steps<Managed> {
  if (managedFields === undefined || managedFields === null) return NOTHING_MANAGED;
  if (!isJsonArray(managedFields)) throw new ManagedFieldsError("managedFields must be a list");
  const owners = new Map<string, VersionedSet>();
  const times = new Map<string, Timestamp>();
  for (const [index, value] of managedFields.entries()) {
    const entry = checkEntry(value, index);
    const { apiVersion, fieldsV1, operation, time } = entry;
    const id = formatOwnerId(entry);
    const owned = { set: parseFieldsV1(fieldsV1), apiVersion, applied: operation === "Apply" };
    owners.set(id, isCanonical && isJsonObject(fieldsV1) ? { ...owned, fieldsV1 } : owned);
    if (time === undefined) times.delete(id);
    else times.set(id, time);
    yield;
  }
  return { owners, times };
}

/** The entries in canonical order; undefined if there are no owners. */
export function* encodeManagedFields({ owners, times }: Managed): Steps<readonly ManagedFieldsEntry[] | undefined> {
  if (owners.size === 0) return undefined;
  const entries: ManagedFieldsEntry[] = [];
  for (const [id, owned] of owners) {
    entries.push(encodeEntry(id, owned, times.get(id)));
    if (owned.fieldsV1 === undefined) yield;
  }
  return entries.sort(compareEntries);
}

function encodeEntry(id: string, owned: VersionedSet, time: Timestamp | undefined): ManagedFieldsEntry {
  const { manager, subresource } = parseOwnerId(id);
  return {
    apiVersion: owned.apiVersion,
    fieldsType: "FieldsV1",
    fieldsV1: owned.fieldsV1 ?? toFieldsV1(owned.set),
    manager,
    operation: owned.applied ? "Apply" : "Update",
    ...(subresource === "" ? {} : { subresource }),
    ...(time === undefined ? {} : { time }),
  };
}

type CheckedEntry = {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource?: string;
  readonly time?: Timestamp;
  readonly fieldsV1: JsonValue | undefined;
};

function checkEntry(entry: JsonValue, index: number): CheckedEntry {
  if (!isJsonObject(entry)) throw new ManagedFieldsError(`entry ${index} must be an object`);
  const { operation, fieldsType } = entry;
  const apiVersion = textOf(entry, "apiVersion");
  if (operation !== "Apply" && operation !== "Update") {
    throw new ManagedFieldsError("operation must be `Apply` or `Update`");
  }
  if (apiVersion === "") throw new ManagedFieldsError("apiVersion must not be empty");
  if (fieldsType === undefined || fieldsType === "") {
    throw new ManagedFieldsError(`missing fieldsType in managed fields entry ${index}`);
  }
  if (fieldsType !== "FieldsV1") {
    throw new ManagedFieldsError(`invalid fieldsType ${quoteGo(String(fieldsType))} in managed fields entry ${index}`);
  }
  const time = checkTime(entry["time"]);
  return {
    manager: textOf(entry, "manager"),
    operation,
    apiVersion,
    subresource: textOf(entry, "subresource"),
    fieldsV1: entry["fieldsV1"],
    ...(time === undefined ? {} : { time }),
  };
}

function textOf(entry: JsonObject, member: string): string {
  const value = entry[member] ?? "";
  if (typeof value !== "string" || !isOwnerName(value)) throw new ManagedFieldsError(`${member} must be a name`);
  return value;
}

const CANONICAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

function checkTime(time: JsonValue | undefined): Timestamp | undefined {
  if (time === undefined || time === null) return undefined;
  if (typeof time === "string") {
    if (CANONICAL_TIME.test(time)) return time;
    const millis = /^\d{4}-\d\d-\d\dT/.test(time) ? Date.parse(time) : Number.NaN;
    if (!Number.isNaN(millis)) return new Date(millis).toISOString().replace(/\.\d+Z$/, "Z");
  }
  throw new ManagedFieldsError("time must be an RFC 3339 time");
}

/** Appliers first, then by time; managers without a time come first. */
export function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return (
    compareText(a.operation, b.operation) ||
    compareText(a.time, b.time) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

function compareText(a = "", b = ""): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

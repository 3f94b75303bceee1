// Reads and writes metadata.managedFields.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/managedfields.go

import type { FieldSet } from "../fieldpath/field-set.ts";
import { parseFieldsV1, toFieldsV1 } from "../fieldpath/fields-v1.ts";
import { PathElementError } from "../fieldpath/path-element.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { ManagedFieldsEntry, Timestamp } from "../meta/object-meta.ts";
import { quoteGo } from "../text/go-quote.ts";
import type { Owners, VersionedSet } from "./merge-updater.ts";
import { formatOwnerId, parseOwnerId } from "./owner-id.ts";

/** Who owns what, and since when. An owner whose apply changed nothing has no time. */
export type Managed = { readonly owners: Owners; readonly times: ReadonlyMap<string, Timestamp> };

export const NOTHING_MANAGED: Managed = { owners: new Map(), times: new Map() };

/** Managed fields that cannot be read. */
export class ManagedFieldsError extends Error {
  override readonly name = "ManagedFieldsError";
}

export type ManagedFieldsCodec = {
  /**
   * Reads what the server itself has written.
   * @throws ManagedFieldsError or PathElementError when it is no list of valid entries.
   */
  decodeStored(managedFields: JsonValue | undefined): Managed;
  /** As `decodeStored`, undefined instead of a fault. */
  tryDecodeStored(managedFields: JsonValue | undefined): Managed | undefined;
  /** Reads what a client has sent; undefined when any of it is invalid. */
  tryDecode(managedFields: JsonValue | undefined): Managed | undefined;
  /** The entries in canonical order; undefined when nobody owns anything. */
  encode(managed: Managed): readonly ManagedFieldsEntry[] | undefined;
};

/** Remembers the stored lists and sets it has seen: most writes leave most of them as they are. */
export function createManagedFieldsCodec(): ManagedFieldsCodec {
  const decoded = new WeakMap<object, Managed>();
  const encoded = new WeakMap<FieldSet, JsonObject>();

  const decodeStored = (managedFields: JsonValue | undefined): Managed => {
    if (typeof managedFields !== "object" || managedFields === null) return decodeEntries(managedFields);
    let managed = decoded.get(managedFields);
    if (managed === undefined) {
      // What is stored is canonical, so that its text need not be written again while the set stays the same.
      managed = decodeEntries(managedFields, (set, fields) => encoded.set(set, fields));
      decoded.set(managedFields, managed);
    }
    return managed;
  };

  const encodeSet = (set: FieldSet): JsonObject => {
    let fields = encoded.get(set);
    if (fields === undefined) {
      fields = toFieldsV1(set);
      encoded.set(set, fields);
    }
    return fields;
  };

  return {
    decodeStored,
    tryDecodeStored: (managedFields) => undefinedOnFault(() => decodeStored(managedFields)),
    tryDecode: (managedFields) => undefinedOnFault(() => decodeEntries(managedFields)),
    encode: ({ owners, times }) => {
      if (owners.size === 0) return undefined;
      const entries = [...owners].map(([id, owned]) => encodeEntry(id, owned, encodeSet(owned.set), times.get(id)));
      return entries.sort(compareEntries);
    },
  };
}

function undefinedOnFault(decode: () => Managed): Managed | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof ManagedFieldsError || error instanceof PathElementError) return undefined;
    throw error;
  }
}

function decodeEntries(
  managedFields: JsonValue | undefined,
  onSet?: (set: FieldSet, fields: JsonObject) => void,
): Managed {
  if (managedFields === undefined || managedFields === null) return NOTHING_MANAGED;
  if (!isJsonArray(managedFields)) throw new ManagedFieldsError("managedFields must be a list");
  const owners = new Map<string, VersionedSet>();
  const times = new Map<string, Timestamp>();
  for (const [index, value] of managedFields.entries()) {
    const entry = checkEntry(value, index);
    const id = formatOwnerId(entry);
    const set = parseFieldsV1(entry.fieldsV1);
    if (isJsonObject(entry.fieldsV1)) onSet?.(set, entry.fieldsV1);
    owners.set(id, { set, apiVersion: entry.apiVersion, applied: entry.operation === "Apply" });
    if (entry.time === undefined) times.delete(id);
    else times.set(id, entry.time);
  }
  return { owners, times };
}

function encodeEntry(
  id: string,
  { apiVersion, applied }: VersionedSet,
  fieldsV1: JsonObject,
  time: Timestamp | undefined,
): ManagedFieldsEntry {
  const { manager, subresource } = parseOwnerId(id);
  return {
    apiVersion,
    fieldsType: "FieldsV1",
    fieldsV1,
    manager,
    operation: applied ? "Apply" : "Update",
    ...(subresource === undefined ? {} : { subresource }),
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
  if (typeof value !== "string") throw new ManagedFieldsError(`${member} must be a string`);
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

/** Appliers first, then by time; who has no time was there before all others. */
function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
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

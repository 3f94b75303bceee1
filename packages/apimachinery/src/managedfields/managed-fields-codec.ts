// Reads and writes metadata.managedFields.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/managedfields.go

import type { FieldSet } from "../fieldpath/field-set.ts";
import { parseFieldsV1, toFieldsV1 } from "../fieldpath/fields-v1.ts";
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
   * Takes anything that a client may have sent. `isCanonical` spares writing sets again that are known to be written
   * canonically, as all stored ones are.
   * @throws ManagedFieldsError or PathElementError when it is no list of valid entries.
   */
  decode(managedFields: JsonValue | undefined, isCanonical: boolean): Managed;
  /** The entries in canonical order; undefined when nobody owns anything. */
  encode(managed: Managed): readonly ManagedFieldsEntry[] | undefined;
};

/** Remembers the text of the sets it has read, so that unchanged ones are not written again. */
export function createManagedFieldsCodec(): ManagedFieldsCodec {
  const written = new WeakMap<FieldSet, JsonObject>();
  const decoded = new WeakMap<object, Managed>();

  const decode = (managedFields: JsonValue, isCanonical: boolean): Managed => {
    if (!isJsonArray(managedFields)) throw new ManagedFieldsError("managedFields must be a list");
    const owners = new Map<string, VersionedSet>();
    const times = new Map<string, Timestamp>();
    for (const [index, value] of managedFields.entries()) {
      const entry = checkEntry(value, index);
      const id = formatOwnerId(entry);
      const set = parseFieldsV1(entry.fieldsV1);
      if (isCanonical && isJsonObject(entry.fieldsV1)) written.set(set, entry.fieldsV1);
      owners.set(id, { set, apiVersion: entry.apiVersion, applied: entry.operation === "Apply" });
      if (entry.time === undefined) times.delete(id);
      else times.set(id, entry.time);
    }
    return { owners, times };
  };

  const encodeSet = (set: FieldSet): JsonObject => {
    const known = written.get(set);
    if (known !== undefined) return known;
    const fields = toFieldsV1(set);
    written.set(set, fields);
    return fields;
  };

  return {
    decode(managedFields, isCanonical) {
      if (managedFields === undefined || managedFields === null) return NOTHING_MANAGED;
      if (!isCanonical || typeof managedFields !== "object") return decode(managedFields, isCanonical);
      let managed = decoded.get(managedFields);
      if (managed === undefined) {
        managed = decode(managedFields, isCanonical);
        decoded.set(managedFields, managed);
      }
      return managed;
    },

    encode({ owners, times }) {
      if (owners.size === 0) return undefined;
      const entries: ManagedFieldsEntry[] = [];
      for (const [id, { set, apiVersion, applied }] of owners) {
        const { manager, subresource } = parseOwnerId(id);
        const time = times.get(id);
        entries.push({
          apiVersion,
          fieldsType: "FieldsV1",
          fieldsV1: encodeSet(set),
          manager,
          operation: applied ? "Apply" : "Update",
          ...(subresource === undefined ? {} : { subresource }),
          ...(time === undefined ? {} : { time }),
        });
      }
      return entries.sort(compareEntries);
    },
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

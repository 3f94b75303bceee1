// Prints values as Go's %#v does: error texts of Kubernetes up to 1.33 show lists and maps that way.
// Source: https://pkg.go.dev/fmt (verb %#v)

import { isJsonArray, isJsonObject, type JsonValue } from "../json/json-value.ts";
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "../meta/object-meta.ts";
import { quoteGo } from "../text/go-quote.ts";

/** Values nested deeper print as `...`: no message needs them, and they could exhaust the stack. */
const MAX_DEPTH = 100;

/** A decoded JSON value, such as `map[string]interface {}{"a":[]interface {}{"b", 42}}`. Keys are sorted. */
export const formatGoValue = (value: JsonValue | undefined, mapType = "map[string]interface {}"): string =>
  formatNested(value, mapType, 0);

function formatNested(value: JsonValue | undefined, mapType: string, depth: number): string {
  if (value === null || value === undefined) return "interface {}(nil)";
  if (typeof value === "string") return quoteGo(value);
  if (depth > MAX_DEPTH) return "...";
  if (isJsonArray(value)) {
    return `[]interface {}{${value.map((item) => formatNested(item, mapType, depth + 1)).join(", ")}}`;
  }
  if (isJsonObject(value)) {
    const members = Object.keys(value).sort();
    const texts = members.map((name) => `${quoteGo(name)}:${formatNested(value[name], mapType, depth + 1)}`);
    return `${mapType}{${texts.join(", ")}}`;
  }
  return String(value);
}

/** `[]string{"a", "b"}` */
export const formatGoStrings = (values: readonly string[]): string => `[]string{${values.map(quoteGo).join(", ")}}`;

/** A timestamp as Go's time.Time prints: `2023-11-14 22:30:00 +0000 UTC`. Text that is no time is quoted. */
export function formatGoTime(timestamp: string): string {
  const time = new Date(timestamp);
  if (Number.isNaN(time.getTime())) return quoteGo(timestamp);
  return `${time.toISOString().slice(0, 19).replace("T", " ")} +0000 UTC`;
}

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

/** A timestamp as Go's %#v prints it: `time.Date(2023, time.November, 14, 22, 30, 0, 0, time.UTC)`; the zero time without one. */
export function formatGoTimeLiteral(timestamp: string | undefined): string {
  if (timestamp === undefined) return "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)";
  const time = new Date(timestamp);
  if (Number.isNaN(time.getTime())) return quoteGo(timestamp);
  const clock = [time.getUTCHours(), time.getUTCMinutes(), time.getUTCSeconds()].join(", ");
  return `time.Date(${time.getUTCFullYear()}, time.${MONTHS[time.getUTCMonth()]}, ${time.getUTCDate()}, ${clock}, 0, time.UTC)`;
}

/** Go prints the address of a set pointer, which carries no meaning. */
const ADDRESS = "0xc000000000";

/** `(*bool)(nil)`, or with an address where there is a value. */
export const formatGoPointer = (type: string, value: JsonValue | undefined): string =>
  `(*${type})(${value === undefined ? "nil" : ADDRESS})`;

/** A float as Go's %v prints it: `0.5`, and with an exponent from a million on, `1e+06`. */
export function formatGoFloat(value: number): string {
  const [digits = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (value === 0 || (exponent >= -4 && exponent < 6)) return String(value);
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

// Prints metadata as Go's %#v does, for errors that show the whole of it.
// Source: https://pkg.go.dev/fmt (verb %#v) over k8s.io/apimachinery/pkg/apis/meta/v1/types.go

type StringMap = { readonly [key: string]: string };

export function formatGoObjectMeta(metadata: ObjectMeta): string {
  const { deletionTimestamp, deletionGracePeriodSeconds, ownerReferences, finalizers, managedFields } = metadata;
  return formatStruct("v1.ObjectMeta", [
    ["Name", quoteGo(metadata.name ?? "")],
    ["GenerateName", quoteGo(metadata.generateName ?? "")],
    ["Namespace", quoteGo(metadata.namespace ?? "")],
    ["SelfLink", '""'],
    ["UID", quoteGo(metadata.uid ?? "")],
    ["ResourceVersion", quoteGo(metadata.resourceVersion ?? "")],
    ["Generation", String(metadata.generation ?? 0)],
    ["CreationTimestamp", formatGoTimeLiteral(metadata.creationTimestamp ?? undefined)],
    ["DeletionTimestamp", typeof deletionTimestamp === "string" ? formatGoTimeLiteral(deletionTimestamp) : "<nil>"],
    ["DeletionGracePeriodSeconds", formatGoPointer("int64", deletionGracePeriodSeconds ?? undefined)],
    ["Labels", formatMap(metadata.labels)],
    ["Annotations", formatMap(metadata.annotations)],
    ["OwnerReferences", formatSlice("v1.OwnerReference", ownerReferences, formatGoOwnerReference)],
    ["Finalizers", formatSlice("string", finalizers, quoteGo)],
    ["ManagedFields", formatSlice("v1.ManagedFieldsEntry", managedFields, formatManagedFieldsEntry)],
  ]);
}

/** Decoding accepts partial references: every member may still be missing. */
export const formatGoOwnerReference = (reference: Partial<OwnerReference>): string =>
  formatStruct("v1.OwnerReference", [
    ["APIVersion", quoteGo(reference.apiVersion ?? "")],
    ["Kind", quoteGo(reference.kind ?? "")],
    ["Name", quoteGo(reference.name ?? "")],
    ["UID", quoteGo(reference.uid ?? "")],
    ["Controller", formatGoPointer("bool", reference.controller)],
    ["BlockOwnerDeletion", formatGoPointer("bool", reference.blockOwnerDeletion)],
  ]);

const formatManagedFieldsEntry = (entry: ManagedFieldsEntry): string =>
  formatStruct("v1.ManagedFieldsEntry", [
    ["Manager", quoteGo(entry.manager ?? "")],
    ["Operation", quoteGo(entry.operation ?? "")],
    ["APIVersion", quoteGo(entry.apiVersion ?? "")],
    ["Time", entry.time === undefined ? "<nil>" : formatGoTimeLiteral(entry.time)],
    ["FieldsType", quoteGo(entry.fieldsType ?? "")],
    ["FieldsV1", formatGoPointer("v1.FieldsV1", entry.fieldsV1)],
    ["Subresource", quoteGo(entry.subresource ?? "")],
  ]);

const formatStruct = (type: string, members: readonly (readonly [string, string])[]): string =>
  `${type}{${members.map(([name, text]) => `${name}:${text}`).join(", ")}}`;

function formatMap(map: StringMap | undefined): string {
  if (map === undefined) return "map[string]string(nil)";
  const members = Object.keys(map)
    .sort()
    .map((key) => `${quoteGo(key)}:${quoteGo(map[key] ?? "")}`);
  return `map[string]string{${members.join(", ")}}`;
}

const formatSlice = <T>(type: string, items: readonly T[] | undefined, format: (item: T) => string): string =>
  items === undefined ? `[]${type}(nil)` : `[]${type}{${items.map(format).join(", ")}}`;

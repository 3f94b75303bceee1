// Prints metadata as Go's %#v does, for errors that show the whole of it.
// Source: https://pkg.go.dev/fmt (verb %#v) over k8s.io/apimachinery/pkg/apis/meta/v1/types.go

import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "../meta/object-meta.ts";
import { quoteGo } from "../text/go-quote.ts";
import { formatGoPointer, formatGoTimeLiteral } from "./go-syntax.ts";

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

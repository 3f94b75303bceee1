// Events of events.k8s.io: the Events of the core group, under other names.
// Source: k8s.io/kubernetes/pkg/apis/events/v1/conversion.go, pkg/apis/core/validation/events.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject, ManagedFieldsEntry } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { defineBuiltin } from "../builtin-resource.ts";
import {
  type Event,
  eventColumns,
  eventSeries,
  eventSource,
  eventStrategy,
  events,
  validateEvent,
} from "../core/events.ts";
import { objectReference } from "../core/object-reference.ts";

const newEventFields = s.object({
  eventTime: s.microTime(),
  series: eventSeries(),
  reportingController: s.string(),
  reportingInstance: s.string(),
  action: s.string(),
  reason: s.string(),
  regarding: objectReference,
  related: objectReference,
  note: s.string(),
  type: s.string(),
  deprecatedSource: eventSource,
  deprecatedFirstTimestamp: s.timestamp(),
  deprecatedLastTimestamp: s.timestamp(),
  deprecatedCount: s.int32(),
});

type NewEvent = KindOf<typeof newEventFields>;

const GROUP_VERSION = "events.k8s.io/v1";

/** Names of the fields here, and in the core group. */
const NAMES: readonly (readonly [here: string, core: string])[] = [
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["reportingController", "reportingComponent"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
];

type Version = { readonly apiVersion: string; readonly names: ReadonlyMap<string, string> };
const CORE: Version = { apiVersion: "v1", names: new Map(NAMES) };
const HERE: Version = { apiVersion: GROUP_VERSION, names: new Map(NAMES.map(([here, core]) => [core, here])) };

/** Names alone differ, also in the sets of fields that managers own. */
const inVersion = (event: KubeObject, { apiVersion, names }: Version): KubeObject => {
  const { metadata, ...fields } = event;
  const { managedFields } = metadata;
  return {
    ...renamed(fields, names, ""),
    apiVersion,
    kind: "Event",
    metadata:
      managedFields === undefined
        ? metadata
        : { ...metadata, managedFields: managedFields.map((entry) => entryIn(entry, { apiVersion, names })) },
  };
};

const entryIn = (entry: ManagedFieldsEntry, { apiVersion, names }: Version): ManagedFieldsEntry => ({
  ...entry,
  apiVersion,
  ...(isJsonObject(entry.fieldsV1) ? { fieldsV1: renamed(entry.fieldsV1, names, "f:") } : {}),
});

const renamed = (
  members: { readonly [name: string]: JsonValue | undefined },
  names: Version["names"],
  prefix: string,
): JsonObject =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, member]): [string, JsonValue][] => {
      if (member === undefined) return [];
      const other = name.startsWith(prefix) ? names.get(name.slice(prefix.length)) : undefined;
      return [[other === undefined ? name : `${prefix}${other}`, member]];
    }),
  );

/** Go leaves them out here, and not in the core group. */
function withoutEmptyReporter(event: KubeObject): KubeObject {
  const { reportingController, reportingInstance, ...rest } = event;
  return {
    ...rest,
    ...(reportingController === undefined || reportingController === "" ? {} : { reportingController }),
    ...(reportingInstance === undefined || reportingInstance === "" ? {} : { reportingInstance }),
  };
}

// An event in this group's shape converts to one in the core group's shape.
const asCore = (event: KubeObject): Event => inVersion(event, CORE) as Event;

const strategy: Strategy<NewEvent> = {
  ...eventStrategy,
  validate: (event) => [
    ...validateEvent(asCore(event), "reportingController"),
    ...validateSeries(event),
    ...(isSet(event.eventTime) ? [] : [requiredError("eventTime")]),
    ...(event.type === "Normal" || event.type === "Warning"
      ? []
      : [invalidError("type", "", `has invalid value: ${event.type ?? ""}`)]),
    ...(isSet(event.deprecatedFirstTimestamp) ? [mustBeUnset("firstTimestamp")] : []),
    ...(isSet(event.deprecatedLastTimestamp) ? [mustBeUnset("lastTimestamp")] : []),
    ...((event.deprecatedCount ?? 0) === 0 ? [] : [mustBeUnset("count")]),
    ...(event.deprecatedSource?.component || event.deprecatedSource?.host ? [mustBeUnset("source")] : []),
  ],
  validateUpdate: (event, old) => [
    ...validateEvent(asCore(event), "reportingController"),
    ...(equalJson(event.series ?? null, old.series ?? null) ? [] : validateSeries(event)),
    ...validateUnchanged(asCore(event), asCore(old)),
  ],
};

const isSet = (value: string | null | undefined): boolean => value !== undefined && value !== null;

const mustBeUnset = (field: string): FieldError => invalidError(field, "", "needs to be unset");

function validateSeries({ series }: NewEvent): readonly FieldError[] {
  if (series === undefined) return [];
  return [
    ...((series.count ?? 0) < 2 ? [invalidError("series.count", "", "should be at least 2")] : []),
    ...(isSet(series.lastObservedTime) ? [] : [requiredError("series.lastObservedTime")]),
  ];
}

/** Under the names of the core group, as upstream says it. */
const IMMUTABLE = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingComponent",
  "reportingInstance",
] as const;

const validateUnchanged = (event: Event, old: Event): readonly FieldError[] =>
  IMMUTABLE.filter((field) => !equalJson(event[field] ?? null, old[field] ?? null)).map((field) =>
    invalidError(
      field === "reportingComponent" ? "reportingController" : field,
      // Both are JSON, which their types do not say.
      (event[field] ?? null) as JsonValue,
      "field is immutable",
    ),
  );

const asCoreColumn = (column: PrinterColumn): PrinterColumn => {
  const { value } = column;
  return typeof value === "string" ? column : { ...column, value: (event, now) => value(asCore(event), now) };
};

/** The same objects as `events` of the core group. */
export const newEvents: ResourceDefinition = defineBuiltin({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  shortNames: ["ev"],
  namespaced: true,
  storedAs: events,
  conversion: { toServed: (record) => withoutEmptyReporter(inVersion(record, HERE)), toStored: asCore },
  schema: kindSchema(newEventFields.schema),
  selectableFields: [
    ".regarding.kind",
    ".regarding.namespace",
    ".regarding.name",
    ".regarding.uid",
    ".regarding.apiVersion",
    ".regarding.resourceVersion",
    ".regarding.fieldPath",
    ".reason",
    ".reportingController",
    ".type",
  ],
  hasOwnNameColumn: true,
  setDefaults: (event) => ({
    deprecatedSource: {},
    deprecatedFirstTimestamp: null,
    deprecatedLastTimestamp: null,
    ...event,
  }),
  columns: eventColumns.map(asCoreColumn),
  strategy,
});

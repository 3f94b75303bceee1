// Events: reports for people about an object.
// Source: k8s.io/kubernetes/pkg/registry/core/event/strategy.go, pkg/apis/core/validation/events.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { defineBuiltin } from "../builtin-resource.ts";
import { qualifiedFaults } from "../field-checks.ts";
import { objectReference } from "./object-reference.ts";

export const eventSource = s.object({
  component: s.string(),
  host: s.string(),
});

/** Each group has its own, which goes by its name in OpenAPI documents. */
export const eventSeries = () =>
  s.object({
    count: s.int32(),
    lastObservedTime: s.microTime(),
  });

const eventFields = s.object({
  involvedObject: objectReference,
  reason: s.string(),
  message: s.string(),
  source: eventSource,
  firstTimestamp: s.timestamp(),
  lastTimestamp: s.timestamp(),
  count: s.int32(),
  type: s.string(),
  eventTime: s.microTime(),
  series: eventSeries(),
  action: s.string(),
  related: objectReference,
  reportingComponent: s.string(),
  reportingInstance: s.string(),
});

export type Event = KindOf<typeof eventFields>;

const MAX_TEXT = 128;
const MAX_MESSAGE = 1024;

/** Common parts of both versions of the kind. */
export const eventStrategy = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  hasNoDependents: true,
} as const;

const strategy: Strategy<Event> = {
  ...eventStrategy,
  validateName: (name) => isValidPathSegmentName(name),
  validate: (event) => validateEvent(event, "reportingComponent"),
  validateUpdate: (event) => validateEvent(event, "reportingComponent"),
};

/**
 * Events of the newer form, which have an eventTime, must say more than the older ones. `controllerField` is what the field of the controller is
 * called in the version that was sent.
 */
export function validateEvent(event: Event, controllerField: string): readonly FieldError[] {
  const isNew = event.eventTime !== undefined && event.eventTime !== null;
  const { namespace: involved = "" } = event.involvedObject ?? {};
  const { namespace = "" } = event.metadata;
  const agree = isNew
    ? involved !== "" || namespace === "default" || namespace === "kube-system"
    : involved === namespace || (involved === "" && namespace === "default");
  return [
    ...(agree ? [] : [invalidError("involvedObject.namespace", involved, "does not match event.namespace")]),
    ...(isNew ? validateNewEvent(event, controllerField) : []),
  ];
}

function validateNewEvent(event: Event, controllerField: string): readonly FieldError[] {
  const { reportingComponent = "", reportingInstance = "", action = "", reason = "", message = "" } = event;
  return [
    ...(reportingComponent === "" ? [requiredError(controllerField)] : []),
    ...qualifiedFaults(controllerField, reportingComponent),
    ...requiredText("reportingInstance", reportingInstance),
    ...requiredText("action", action),
    ...requiredText("reason", reason),
    ...(message.length > MAX_MESSAGE
      ? [invalidError("message", "", `can have at most ${MAX_MESSAGE} characters`)]
      : []),
  ];
}

function requiredText(path: string, text: string): readonly FieldError[] {
  if (text === "") return [requiredError(path)];
  return text.length > MAX_TEXT ? [invalidError(path, "", `can have at most ${MAX_TEXT} characters`)] : [];
}

export const eventColumns: readonly PrinterColumn[] = [
  {
    name: "Last Seen",
    type: "date",
    value: (event) => lastSeen(event as Event) ?? UNKNOWN,
  },
  {
    name: "Type",
    type: "string",
    value: ".type",
  },
  { name: "Reason", type: "string", value: ".reason" },
  {
    name: "Object",
    type: "string",
    value: (event) => {
      const { kind = "", name = "" } = (event as Event).involvedObject ?? {};
      return name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
    },
  },
  {
    name: "Subobject",
    type: "string",
    value: (event) => (event as Event).involvedObject?.fieldPath ?? "",
  },
  {
    name: "Source",
    type: "string",
    value: (event) => sourceText(event as Event),
  },
  {
    name: "Message",
    type: "string",
    value: (event) => (event as Event).message?.trim() ?? "",
  },
  {
    name: "First Seen",
    type: "date",
    value: (event) => firstSeen(event as Event) ?? UNKNOWN,
  },
  {
    name: "Count",
    type: "integer",
    value: (event) => countOf(event as Event),
  },
  {
    name: "Name",
    type: "string",
    value: ".metadata.name",
  },
];

/** In Go these are always there, and times that were never set are null. */
const withGoMembers = (event: KubeObject): KubeObject => ({ ...GO_MEMBERS, ...event });
const GO_MEMBERS = {
  source: {},
  firstTimestamp: null,
  lastTimestamp: null,
  eventTime: null,
  reportingComponent: "",
  reportingInstance: "",
};

export const events: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  shortNames: ["ev"],
  namespaced: true,
  schema: kindSchema(eventFields.schema),
  selectableFields: [
    ".involvedObject.kind",
    ".involvedObject.namespace",
    ".involvedObject.name",
    ".involvedObject.uid",
    ".involvedObject.apiVersion",
    ".involvedObject.resourceVersion",
    ".involvedObject.fieldPath",
    ".reason",
    ".reportingComponent",
    ".type",
  ],
  // Stored objects have passed the schema of the kind.
  computedFields: { source: (event) => componentOf(event as Event) },
  hasOwnNameColumn: true,
  columns: eventColumns,
  setDefaults: withGoMembers,
  strategy,
});

const UNKNOWN = "<unknown>";

const firstSeen = ({ firstTimestamp, eventTime }: Event): string | undefined =>
  firstTimestamp ?? eventTime ?? undefined;

/** A series has its own time of the last occurrence. */
const lastSeen = (event: Event): string | undefined =>
  event.series === undefined ? (event.lastTimestamp ?? firstSeen(event)) : (event.series.lastObservedTime ?? undefined);

/** Events of the newer form that are no series have happened once. */
const countOf = ({ series, count = 0 }: Event): number =>
  series === undefined ? (count === 0 ? 1 : count) : (series.count ?? 0);

/** Events of the newer API have their reporter in another field. */
const componentOf = ({ source, reportingComponent = "" }: Event): string => source?.component || reportingComponent;

function sourceText(event: Event): string {
  const { source = {}, reportingInstance = "" } = event;
  const component = componentOf(event);
  const instance = source.host || reportingInstance;
  return instance === "" ? component : `${component}, ${instance}`;
}

// Events: reports for people about an object.
// Source: k8s.io/kubernetes/pkg/registry/core/event/strategy.go, pkg/apis/core/validation/events.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import { isQualifiedName, isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { defineBuiltin } from "../builtin-resource.ts";
import { objectReference } from "./object-reference.ts";

export const eventSource = s
  .object({
    component: s.string().describe("Component from which the event is generated."),
    host: s.string().describe("Node name on which the event is generated."),
  })
  .describe("EventSource contains information for an event.");

export const eventSeries = s
  .object({
    count: s.int32().describe("Number of occurrences in this series up to the last heartbeat time."),
    lastObservedTime: s.microTime().describe("MicroTime is version of Time with microsecond level precision."),
  })
  .describe(
    "EventSeries contain information on series of events, i.e. thing that was/is happening continuously for some time.",
  );

const eventFields = s
  .object({
    involvedObject: objectReference.describe(
      "ObjectReference contains enough information to let you inspect or modify the referred object.",
    ),
    reason: s.string().describe("Short, machine-readable reason for the event."),
    message: s.string().describe("Human-readable description of the event."),
    source: eventSource,
    firstTimestamp: s
      .timestamp()
      .describe("The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)"),
    lastTimestamp: s.timestamp().describe("The time at which the most recent occurrence of this event was recorded."),
    count: s.int32().describe("The number of times this event has occurred."),
    type: s.string().describe("Type of this event (Normal, Warning), new types could be added in the future"),
    eventTime: s.microTime().describe("MicroTime is version of Time with microsecond level precision."),
    series: eventSeries,
    action: s.string().describe("Action that was taken or failed regarding the object."),
    related: objectReference.describe(
      "ObjectReference contains enough information to let you inspect or modify the referred object.",
    ),
    reportingComponent: s
      .string()
      .describe("Name of the controller that emitted this Event, e.g. `kubernetes.io/kubelet`."),
    reportingInstance: s.string().describe("ID of the controller instance, e.g. `kubelet-xyzf`."),
  })
  .describe("Event is a report of an event somewhere in the cluster.");

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
    ...isQualifiedName(reportingComponent).map((fault) => invalidError(controllerField, reportingComponent, fault)),
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
    description: "Time since the last occurrence.",
    // Stored objects have passed the schema of the kind, here and below.
    value: (event) => lastSeen(event as Event) ?? UNKNOWN,
  },
  {
    name: "Type",
    type: "string",
    description:
      "type is the type of this event (Normal, Warning), new types could be added in the future. It is machine-readable.",
    value: ".type",
  },
  { name: "Reason", type: "string", description: "Short, machine-readable reason for the event.", value: ".reason" },
  {
    name: "Object",
    type: "string",
    description: "ObjectReference contains enough information to let you inspect or modify the referred object.",
    value: (event) => {
      const { kind = "", name = "" } = (event as Event).involvedObject ?? {};
      return name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
    },
  },
  {
    name: "Subobject",
    type: "string",
    priority: 1,
    description: "Part of the object that the event is about.",
    value: (event) => (event as Event).involvedObject?.fieldPath ?? "",
  },
  {
    name: "Source",
    type: "string",
    priority: 1,
    description: "EventSource contains information for an event.",
    value: (event) => sourceText(event as Event),
  },
  {
    name: "Message",
    type: "string",
    description: "Human-readable description of the event.",
    value: (event) => (event as Event).message?.trim() ?? "",
  },
  {
    name: "First Seen",
    type: "date",
    priority: 1,
    description: "Time since the first occurrence.",
    value: (event) => firstSeen(event as Event) ?? UNKNOWN,
  },
  {
    name: "Count",
    type: "integer",
    priority: 1,
    description: "The number of times this event has occurred.",
    value: (event) => countOf(event as Event),
  },
  {
    name: "Name",
    type: "string",
    format: "name",
    priority: 1,
    description: "The name of the event.",
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

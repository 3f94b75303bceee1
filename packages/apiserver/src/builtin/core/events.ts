// Events: what happened to an object, told to people.
// Source: k8s.io/kubernetes/pkg/registry/core/event/strategy.go, pkg/apis/core/validation/events.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import { isQualifiedName, isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import type { PrinterColumn, ResourceDefinition } from "../../registry/resource-definition.ts";
import type { Strategy } from "../../registry/strategy.ts";
import { defineBuiltin } from "../builtin-resource.ts";
import { objectReference } from "./object-reference.ts";

const eventFields = s
  .object({
    involvedObject: objectReference.describe("The object it happened to."),
    reason: s.string().describe("What happened, in one CamelCase word."),
    message: s.string().describe("What happened, for people to read."),
    source: s
      .object({
        component: s.string().describe("The program that tells of it."),
        host: s.string().describe("The machine that program runs on."),
      })
      .describe("Who tells of it."),
    firstTimestamp: s.timestamp().describe("When it happened for the first time."),
    lastTimestamp: s.timestamp().describe("When it happened the last time."),
    count: s.int32().describe("How often it has happened."),
    type: s.string().describe("Normal or Warning; more may come."),
    eventTime: s.microTime().describe("When it was first seen, to the microsecond."),
    series: s
      .object({
        count: s.int32().describe("How often it has happened up to now."),
        lastObservedTime: s.microTime().describe("When it was last seen."),
      })
      .describe("Set when it is one of a row of equal ones."),
    action: s.string().describe("What was done, or failed, about the object."),
    related: objectReference.describe("A second object that plays a part, if one."),
    reportingComponent: s.string().describe("The controller that tells of it, such as example.com/controller."),
    reportingInstance: s.string().describe("Which instance of that controller."),
  })
  .describe("Tells that something happened to an object. Events are kept for a while, and may be missing.");

export type Event = KindOf<typeof eventFields>;

const MAX_TEXT = 128;
const MAX_MESSAGE = 1024;

/** What both versions of the kind have in common. */
export const eventStrategy = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
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
    description: "The time since it last happened.",
    // What the store holds has gone through the schema of the kind, here and below.
    value: (event) => lastSeen(event as Event) ?? UNKNOWN,
  },
  { name: "Type", type: "string", description: "Normal or Warning.", value: ".type" },
  { name: "Reason", type: "string", description: "What happened, in one word.", value: ".reason" },
  {
    name: "Object",
    type: "string",
    description: "The object it happened to.",
    value: (event) => {
      const { kind = "", name = "" } = (event as Event).involvedObject ?? {};
      return name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
    },
  },
  {
    name: "Subobject",
    type: "string",
    priority: 1,
    description: "The part of the object it happened to.",
    value: (event) => (event as Event).involvedObject?.fieldPath ?? "",
  },
  {
    name: "Source",
    type: "string",
    priority: 1,
    description: "Who tells of it.",
    value: (event) => sourceText(event as Event),
  },
  {
    name: "Message",
    type: "string",
    description: "What happened, for people to read.",
    value: (event) => (event as Event).message?.trim() ?? "",
  },
  {
    name: "First Seen",
    type: "date",
    priority: 1,
    description: "The time since it first happened.",
    value: (event) => firstSeen(event as Event) ?? UNKNOWN,
  },
  {
    name: "Count",
    type: "integer",
    priority: 1,
    description: "How often it has happened.",
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

export const events: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  singular: "event",
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
  // What the store holds has gone through the schema of the kind.
  computedFields: { source: (event) => componentOf(event as Event) },
  hasOwnNameColumn: true,
  columns: eventColumns,
  strategy,
});

const UNKNOWN = "<unknown>";

const firstSeen = ({ firstTimestamp, eventTime }: Event): string | undefined =>
  firstTimestamp ?? eventTime ?? undefined;

/** A series says by itself when it last went on. */
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

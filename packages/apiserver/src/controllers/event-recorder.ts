// Writes what happens to objects as v1 Events, without ever making anybody wait for it or fail.
// Source: k8s.io/client-go/tools/record/event.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { randomSuffix } from "@postern/apimachinery/names/generate-name";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Runtime } from "../runtime/clock.ts";
import { createControlled } from "./controlled-objects.ts";
import type { ControlledResource, ControllerPort } from "./controller-port.ts";

export type ObjectEvent = {
  /** Without a namespace for objects that are in none. */
  readonly involvedObject: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly type: "Normal" | "Warning";
  /** One word, such as `Created`. */
  readonly reason: string;
  readonly message: string;
};

/** Takes an event over; neither throws nor blocks. */
export type EventRecorder = (event: ObjectEvent) => void;

export type EventRecorderOptions = {
  readonly runtime: Pick<Runtime, "clock" | "random">;
  /** The installed `events`; undefined where there are none. */
  readonly events: () => ControlledResource | undefined;
  /** Who tells of it, such as `postern`. */
  readonly component: string;
  readonly onError: ControllerPort["onError"];
  /** Nothing more is written once it is aborted. */
  readonly signal: AbortSignal;
};

/** Events about objects without a namespace are kept in this one. */
const DEFAULT_NAMESPACE = "default";
const SUFFIX_LENGTH = 10;
/** More are dropped: events are kept as well as possible, everything else comes first. */
const MAX_WAITING = 1_000;

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { runtime, events, component, onError, signal } = options;
  let waiting = 0;
  return (event) => {
    const resource = events();
    if (resource === undefined || signal.aborted || waiting >= MAX_WAITING) return;
    waiting++;
    const object = eventObject(event, component, runtime);
    createControlled({ runtime }, resource, object, signal)
      .catch((error: unknown) => onError(error, event.involvedObject.name))
      .finally(() => waiting--);
  };
}

function eventObject(
  { involvedObject, type, reason, message }: ObjectEvent,
  component: string,
  { clock, random }: EventRecorderOptions["runtime"],
) {
  const time = formatTimestamp(clock.now());
  const name = `${involvedObject.name}.${randomSuffix(SUFFIX_LENGTH, random)}`;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: involvedObject.namespace ?? DEFAULT_NAMESPACE },
    involvedObject,
    type,
    reason,
    message,
    source: { component },
    reportingComponent: component,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  } satisfies KubeObject;
}

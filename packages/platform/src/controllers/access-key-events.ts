// Writes what happens to access keys as v1 Events, without ever making a request wait for it or fail.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { randomSuffix } from "@postern/apimachinery/names/generate-name";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import {
  CONTROLLER_WRITE,
  type ControlledResource,
  type ControllerPort,
} from "@postern/apiserver/controllers/controller-port";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createSystemContext } from "@postern/apiserver/server/system-context";
import type { KeyEvent, RecordKeyEvent } from "../resources/owned-access-keys/key-events.ts";

export type AccessKeyEventsOptions = {
  readonly runtime: Pick<Runtime, "clock" | "random">;
  /** The installed `events`. */
  readonly events: () => ControlledResource | undefined;
  /** Who tells of it, such as `postern`. */
  readonly component: string;
  readonly onError: ControllerPort["onError"];
  readonly signal: AbortSignal;
};

/** Events about objects without a namespace are kept in this one, as in Kubernetes. */
const NAMESPACE = "default";
const SUFFIX_LENGTH = 10;
/** More are dropped: events are kept as well as possible, requests come first. */
const MAX_WAITING = 1_000;

export function createKeyEventRecorder(options: AccessKeyEventsOptions): RecordKeyEvent {
  const { runtime, events, component, onError, signal } = options;
  let waiting = 0;
  return (event) => {
    const resource = events();
    if (resource === undefined || signal.aborted || waiting >= MAX_WAITING) return;
    waiting++;
    const { name } = event.involvedObject;
    const context = createSystemContext(
      { verb: "create", apiVersion: "v1", resource: "events", namespace: NAMESPACE },
      { clock: runtime.clock, signal },
    );
    const object = eventObject(event, component, runtime);
    resource.store
      .create(context, NAMESPACE, object, CONTROLLER_WRITE)
      .catch((error: unknown) => onError(error, name))
      .finally(() => waiting--);
  };
}

function eventObject(
  { involvedObject, type, reason, message }: KeyEvent,
  component: string,
  { clock, random }: Pick<Runtime, "clock" | "random">,
): KubeObject {
  const time = formatTimestamp(clock.now());
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${involvedObject.name}.${randomSuffix(SUFFIX_LENGTH, random)}`, namespace: NAMESPACE },
    involvedObject,
    type,
    reason,
    message,
    source: { component },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}

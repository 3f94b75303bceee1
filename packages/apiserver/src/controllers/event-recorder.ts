// Records v1 Events without blocking, failing or filling the store: repeated events are counted in one object. See docs/adr/0051.
// Source: k8s.io/client-go/tools/record/event.go, events_cache.go

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { randomSuffix } from "@postern/apimachinery/names/generate-name";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Runtime } from "../runtime/clock.ts";
import { createControlled, deleteControlled, updateControlled } from "./controlled-objects.ts";
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
  /**
   * End of the name of the Event, in lower-case letters and digits: of several servers that record one with the same end, one writes it.
   * Absent: each is an Event of its own.
   */
  readonly once?: string;
};

/** Takes an event over; neither throws nor blocks. */
export type EventRecorder = (event: ObjectEvent) => void;

export type EventRecorderDeps = {
  readonly runtime: Pick<Runtime, "clock" | "random" | "scheduler">;
  /** The installed resource `events`; undefined without it. */
  readonly events: () => ControlledResource | undefined;
  /** The reporting component, such as `postern`. */
  readonly component: string;
  readonly onError: ControllerPort["onError"];
  /** Events in one namespace, above which the oldest are deleted. Default: 1,000. */
  readonly maxInNamespace?: number;
  /** Nothing more is written once it is aborted. */
  readonly signal: AbortSignal;
};

/** Events about objects without a namespace are kept in this one. */
const DEFAULT_NAMESPACE = "default";
const SUFFIX_LENGTH = 10;
/** Most Events in one namespace: the oldest are deleted before another is recorded. */
const MAX_IN_NAMESPACE = 1_000;
/** A twentieth is deleted together, so that they are not sorted for each new one. */
const PRUNED_PART = 20;
/** More are dropped: events are kept as well as possible, everything else comes first. */
const MAX_WAITING = 1_000;
/** This many objects of one sort (kind, namespace, type, reason) have an Event each, and one more after each REFILL_MS: 200 in an hour. */
export const SINGLE_EVENTS = 100;
const REFILL_MS = 36_000;
/** How often the Event that represents all similar ones is written. */
export const COMBINED_EVERY_MS = 10_000;
/** Sorts that are remembered before those with nothing to remember are forgotten. */
const MAX_SORTS = 1_000;

export function createEventRecorder(deps: EventRecorderDeps): EventRecorder {
  const { events, signal, maxInNamespace = MAX_IN_NAMESPACE } = deps;
  const sorts = new Map<string, EventSort>();
  const keepFew = createEventPruner(deps);
  let waiting = 0;
  const record = async (resource: ControlledResource, named: NamedEvent): Promise<void> => {
    const namespace = namespaceOf(named.event);
    await keepFew(resource, namespace, maxInNamespace);
    try {
      await createEvent(deps, resource, named, signal);
    } catch (error) {
      if (!isApiError(error, "InsufficientStorage")) throw error;
      // When the limit is reached, the newest Events are kept: they explain the present state.
      await keepFew(resource, namespace, 0);
      await createEvent(deps, resource, named, signal);
    }
  };
  const write = (event: ObjectEvent): void => {
    const resource = events();
    if (resource === undefined || waiting >= MAX_WAITING) return;
    waiting++;
    record(resource, namedEvent(event, deps))
      .catch((error: unknown) => {
        const isWritten = event.once !== undefined && isApiError(error, "AlreadyExists");
        if (!isWritten) reportFailure(deps, error, event);
      })
      .finally(() => waiting--);
  };
  return (event) => {
    if (signal.aborted) return;
    const { apiVersion, kind, namespace = "" } = event.involvedObject;
    const id = JSON.stringify([apiVersion, kind, namespace, event.type, event.reason]);
    let sort = sorts.get(id);
    if (sort === undefined) {
      if (sorts.size >= MAX_SORTS) for (const [other, { isForgotten }] of sorts) if (isForgotten) sorts.delete(other);
      sort = new EventSort(deps);
      sorts.set(id, sort);
    }
    if (sort.takeSingle()) write(event);
    else sort.combine(event);
  };
}

/** A write that ends with its server, or with the namespace of its object, is no fault. */
function reportFailure({ onError, signal }: EventRecorderDeps, error: unknown, { involvedObject }: ObjectEvent): void {
  if (!signal.aborted && !isOfEndingNamespace(error)) onError(error, involvedObject.name);
}

const isOfEndingNamespace = (error: unknown): boolean =>
  isApiError(error) && error.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;

/** Deletes the oldest Events in a namespace that has more than `most`. */
type EventPruner = (events: ControlledResource, namespace: string, most: number) => Promise<void>;

/** Events that clients created are deleted as well: every Event is soon deleted in any case. */
function createEventPruner(deps: EventRecorderDeps): EventPruner {
  const pruning = new Map<string, Promise<void>>();
  const prune = async (events: ControlledResource, namespace: string): Promise<void> => {
    const all = events.view.list(events.keys.inNamespace(namespace));
    const oldest = [...all].sort((a, b) => a.revision - b.revision).slice(0, Math.ceil(all.length / PRUNED_PART));
    for (const event of oldest) {
      await deleteControlled(deps, events, event.decode(), deps.signal).catch(notFound);
    }
  };
  return async (events, namespace, most) => {
    if (events.view.count(events.keys.inNamespace(namespace)) <= most) return;
    const running = pruning.get(namespace) ?? prune(events, namespace).finally(() => pruning.delete(namespace));
    pruning.set(namespace, running);
    await running;
  };
}

const notFound = (error: unknown): void => {
  if (!isApiError(error, "NotFound")) throw error;
};

/** Events that differ in the object alone. */
class EventSort {
  readonly #deps: EventRecorderDeps;
  #singles = SINGLE_EVENTS;
  #refilledAt: number;
  /** Not written yet. */
  #pending = 0;
  /** The Event that represents all those without an object of their own. */
  #combined: { readonly object: KubeObject; count: number } | undefined;
  #isPlanned = false;

  constructor(deps: EventRecorderDeps) {
    this.#deps = deps;
    this.#refilledAt = deps.runtime.clock.elapsed();
  }

  get isForgotten(): boolean {
    this.#refill();
    return this.#singles === SINGLE_EVENTS && this.#pending === 0 && !this.#isPlanned;
  }

  takeSingle(): boolean {
    this.#refill();
    if (this.#singles === 0) return false;
    this.#singles--;
    return true;
  }

  combine(event: ObjectEvent): void {
    this.#pending++;
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#deps.runtime.scheduler.schedule(COMBINED_EVERY_MS, () => {
      this.#write(event)
        .catch((error: unknown) => reportFailure(this.#deps, error, event))
        .finally(() => {
          this.#isPlanned = false;
          // Events that happened during the write.
          const late = this.#pending - 1;
          if (late < 0) return;
          this.#pending = late;
          this.combine(event);
        });
    });
  }

  #refill(): void {
    const refills = Math.floor((this.#deps.runtime.clock.elapsed() - this.#refilledAt) / REFILL_MS);
    this.#refilledAt += refills * REFILL_MS;
    this.#singles = Math.min(this.#singles + refills, SINGLE_EVENTS);
  }

  async #write(event: ObjectEvent): Promise<void> {
    const { events, signal, runtime } = this.#deps;
    const resource = events();
    if (resource === undefined || signal.aborted) return;
    const pending = this.#pending;
    this.#pending = 0;
    const known = this.#combined;
    if (known !== undefined) {
      known.count += pending;
      const { count } = known;
      const lastTimestamp = formatTimestamp(runtime.clock.now());
      const transform = (current: KubeObject): KubeObject => ({ ...current, count, lastTimestamp });
      try {
        return await updateControlled(this.#deps, resource, known.object, { transform }, signal);
      } catch (error) {
        // It has expired, or has been deleted.
        if (!isApiError(error, "NotFound")) throw error;
      }
    }
    const message = `(combined from similar events): ${event.message}`;
    const named = namedEvent({ ...event, message }, this.#deps);
    const object = { ...eventObject(named, runtime), count: pending };
    await createControlled(this.#deps, resource, object, signal);
    this.#combined = { object, count: pending };
  }
}

export type NamedEvent = {
  readonly event: ObjectEvent;
  /** Name of the Event itself. */
  readonly name: string;
  readonly component: string;
};

/** For an Event that must be written once: resolves when it is, and rejects with ApiErrors, AlreadyExists if one of this name exists. */
export async function createEvent(
  port: { readonly runtime: Pick<Runtime, "clock"> },
  events: ControlledResource,
  named: NamedEvent,
  signal: AbortSignal,
): Promise<void> {
  await createControlled(port, events, eventObject(named, port.runtime), signal);
}

function eventObject(
  { event: { involvedObject, type, reason, message }, name, component }: NamedEvent,
  { clock }: Pick<Runtime, "clock">,
) {
  const time = formatTimestamp(clock.now());
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

const namespaceOf = ({ involvedObject: { namespace = DEFAULT_NAMESPACE } }: ObjectEvent): string => namespace;

const namedEvent = (event: ObjectEvent, { runtime, component }: EventRecorderDeps): NamedEvent => ({
  event,
  name: `${event.involvedObject.name}.${event.once ?? randomSuffix(SUFFIX_LENGTH, runtime.random)}`,
  component,
});

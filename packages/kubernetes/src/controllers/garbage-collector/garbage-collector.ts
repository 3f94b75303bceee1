// Deletes objects whose owners are all gone, and blocks or orphans dependents when owners are deleted.
// Source: k8s.io/kubernetes/pkg/controller/garbagecollector/garbagecollector.go

import type { KubeObject, OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { FINALIZER_DELETE_DEPENDENTS, FINALIZER_ORPHAN_DEPENDENTS } from "@postern/apimachinery/validation/object-meta";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createEventRecorder, type EventRecorder } from "@postern/apiserver/controllers/event-recorder";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { withoutFinalizer } from "../release-finalizer.ts";
import { classifyOwners } from "./classify-owners.ts";
import { DependencyGraph } from "./dependency-graph.ts";
import { GraphBuilder } from "./graph-builder.ts";
import { createObjectAccess, type ObjectAccess, type ObjectLocation, withoutOwners } from "./object-access.ts";

export function createGarbageCollector(port: ControllerPort): Controller {
  const graph = new DependencyGraph();
  const access = createObjectAccess(port);
  const lifetime = new AbortController();
  const reports = new InvalidOwnerReports(
    createEventRecorder({
      ...port,
      events: () => port.resources.all.find(({ definition }) => definition.group === "" && definition.kind === "Event"),
      component: "garbage-collector-controller",
      signal: lifetime.signal,
    }),
  );
  const queue = new WorkQueue(port, {
    name: "garbage_collector",
    async process(key, signal) {
      // An owner is kept while it may have dependents that have not been observed yet.
      await builder.scanned();
      if (!signal.aborted) await collect({ access, graph, reports }, key, signal);
    },
  });
  const enqueue = (keys: Iterable<string>): void => {
    for (const key of keys) queue.add(key);
  };
  const builder = new GraphBuilder(port, graph, { affected: enqueue, gone: (key) => reports.forget(key) });

  const work = {
    async idle() {
      await builder.scanned();
      await queue.idle();
    },
    [Symbol.dispose]: () => queue[Symbol.dispose](),
  };
  const recording = { [Symbol.dispose]: () => lifetime.abort() };
  return createQueueController(work, [recording, builder]);
}

type Collection = {
  readonly access: ObjectAccess;
  readonly graph: DependencyGraph;
  readonly reports: InvalidOwnerReports;
};

/** Does whatever the present state of one object asks for. */
async function collect(collection: Collection, key: string, signal: AbortSignal): Promise<void> {
  const { access } = collection;
  const location = access.locate(key);
  const state = location === undefined ? undefined : access.stateOf(location);
  if (location === undefined || state === undefined) return;
  if (state.orphansDependents) return orphanDependents(collection, location, state.uid, signal);
  if (state.deletesDependents) return releaseWhenAlone(collection, location, state.uid, signal);
  const object = state.isBeingDeleted ? undefined : access.cached(location);
  if (object !== undefined) await deleteWhenOwnersAreGone(collection, key, location, object, signal);
}

async function deleteWhenOwnersAreGone(
  { access, graph, reports }: Collection,
  key: string,
  location: ObjectLocation,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { metadata } = object;
  const owners = await classifyOwners({ access, graph }, object, signal);
  for (const { reference, isElsewhere } of owners) if (isElsewhere) reports.report(key, object, reference);
  const present = owners.filter(({ state }) => state === "present");
  const leaving = owners.filter(({ state }) => state !== "present");
  if (leaving.length === 0) return;
  const uid = metadata.uid ?? "";
  if (present.length > 0) {
    const uids = new Set(leaving.map(({ reference }) => reference.uid));
    return access.editMeta(location, uid, (meta) => withoutOwners(meta, uids), signal);
  }
  const ownerWaits = leaving.some(({ state }) => state === "waiting");
  const policy = ownerWaits && graph.dependentsOf(uid).length > 0 ? "Foreground" : policyOf(metadata.finalizers ?? []);
  await access.delete(location, metadata, policy, signal);
}

/** A dependent that is itself waited for by its dependents keeps the way of deletion it was marked with. */
function policyOf(finalizers: readonly string[]): "Orphan" | "Foreground" | "Background" {
  if (finalizers.includes(FINALIZER_ORPHAN_DEPENDENTS)) return "Orphan";
  return finalizers.includes(FINALIZER_DELETE_DEPENDENTS) ? "Foreground" : "Background";
}

/** Foreground deletion: the dependents go first, as far as they block it; each one that goes brings the owner back here. */
async function releaseWhenAlone(
  { access, graph }: Collection,
  location: ObjectLocation,
  uid: string,
  signal: AbortSignal,
): Promise<void> {
  const ownerKey = keyOf(location);
  /** Permission to block was given for the object that the reference names, which may have another uid. */
  const namesOwner = (reference: OwnerReference, dependentKey: string): boolean => {
    const named = access.locateOwner(reference, access.locate(dependentKey)?.namespace ?? "");
    return typeof named !== "string" && keyOf(named) === ownerKey;
  };
  if (graph.isBlocked({ key: ownerKey, uid }, namesOwner)) return;
  await access.editMeta(location, uid, (meta) => withoutFinalizer(meta, FINALIZER_DELETE_DEPENDENTS), signal);
}

const keyOf = ({ resource, namespace, name }: ObjectLocation): string => resource.keys.of(namespace, name);

/** Takes the owner out of all its dependents, and only then lets it go. */
async function orphanDependents(
  { access, graph }: Collection,
  location: ObjectLocation,
  uid: string,
  signal: AbortSignal,
): Promise<void> {
  const owner = new Set([uid]);
  for (const key of graph.dependentsOf(uid)) {
    const dependent = access.locate(key);
    const state = dependent === undefined ? undefined : access.stateOf(dependent);
    if (dependent === undefined || state === undefined) continue;
    await access.editMeta(dependent, state.uid, (meta) => withoutOwners(meta, owner), signal);
  }
  await access.editMeta(location, uid, (meta) => withoutFinalizer(meta, FINALIZER_ORPHAN_DEPENDENTS), signal);
}

// Source: k8s.io/kubernetes/pkg/controller/garbagecollector/graph_builder.go (reportInvalidNamespaceOwnerRef)
class InvalidOwnerReports {
  readonly #record: EventRecorder;
  /** Storage key of a dependent → uids of the owners that have been notified of. */
  readonly #told = new Map<string, Set<string>>();

  constructor(record: EventRecorder) {
    this.#record = record;
  }

  /** Once for each owner of a dependent, by its storage key. */
  report(key: string, { apiVersion, kind, metadata }: KubeObject, owner: OwnerReference): void {
    const told = this.#told.get(key) ?? new Set();
    if (told.has(owner.uid)) return;
    this.#told.set(key, told.add(owner.uid));
    const { namespace = "", name = "", uid = "" } = metadata;
    const described = `${owner.apiVersion}/${owner.kind}, namespace: ${namespace}, name: ${owner.name}, uid: ${owner.uid}`;
    this.#record({
      involvedObject: { apiVersion, kind, ...(namespace === "" ? {} : { namespace }), name, uid },
      type: "Warning",
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef [${described}] does not exist in namespace ${JSON.stringify(namespace)}`,
    });
  }

  /** For dependents that are gone. */
  forget(key: string): void {
    this.#told.delete(key);
  }
}

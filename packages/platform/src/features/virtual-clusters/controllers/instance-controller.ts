// The common part of the controllers for virtual clusters and spaces: brings instances up, updates their status, and keeps the finalizer until
// everything is deleted.

import { hasFinalizer, withoutFinalizer } from "@postern/api/finalizers";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { ignoringConflicts, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { UpstreamFault } from "../../../foundation/upstream/upstream-failure.ts";
import type { VirtualClusterHealth } from "../virtual-cluster-backend.ts";
import { followInstances, type InstancesAndClusters } from "./follow-instances.ts";

export type InstanceState = {
  readonly isRemote: boolean;
  readonly health: VirtualClusterHealth;
  /** State of the objects of its template; undefined where it has not changed. */
  readonly objects?: AppliedObjects | undefined;
};

/** `hash` is that of the text; `fault` says why some of them are missing. */
export type AppliedObjects = { readonly hash: string; readonly fault?: string };

/** Work that is specific to one kind of instance. */
export type InstanceWork<T extends KubeObject> = {
  /** Name of its work queue in metrics. */
  readonly queueName: string;
  readonly finalizer: string;
  /** Whether the work for the instance waits for a cluster that others run. */
  isRemote(instance: T): boolean;
  /** Creates missing parts, and reports the health. */
  bringUp(instance: T, signal: AbortSignal): Promise<InstanceState>;
  /** `now` in milliseconds since the epoch. */
  statusOf(instance: T, health: VirtualClusterHealth, now: number, objects?: AppliedObjects): JsonValue;
  /** Reason that the deletion waits for; undefined when nothing is left. */
  remove(instance: T, signal: AbortSignal): Promise<UpstreamFault | undefined>;
  /** Instances that have to be looked at, by uid. Absent: changes of the objects say it all. */
  readonly faults?: InstanceFaults | undefined;
  /** Instances whose agents have come or gone. Absent: they have none. */
  readonly connections?: InstanceConnections | undefined;
  /** Instances that are not ready, terminating or external are checked again after this many milliseconds. */
  readonly recheckMs: { readonly unready: number; readonly remote: number };
};

export type InstanceConnections = {
  onChange(listener: (namespace: string, name: string) => void): Disposable;
};

export type InstanceFaults = { onChange(listener: (uid: string) => void): Disposable };

/** Most of the time of remote ones is spent waiting. */
const CONCURRENCY = 16;

type Instance = KubeObject & { readonly status?: { readonly ignoreReconciliation?: boolean } };

export function createInstanceController<T extends Instance>(
  port: Omit<ControllerPort, "resources">,
  { instances, clusters, templates }: InstancesAndClusters,
  work: InstanceWork<T>,
): Controller {
  const { clock, scheduler } = port.runtime;
  const queue = new WorkQueue(port, { name: work.queueName, process, concurrency: CONCURRENCY, laneOf });

  function laneOf(key: string): string {
    // Stored objects have gone through the schema of their kind.
    const instance = instances.view.get(key)?.decode() as T | undefined;
    return instance === undefined ? "" : laneOfInstance(instance, () => work.isRemote(instance));
  }

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // Stored objects have gone through the schema of their kind.
    const instance = instances.view.get(key)?.decode() as T | undefined;
    if (instance === undefined) return;
    await ignoringConflicts(() =>
      isBeingDeleted(instance) ? finalize(key, instance, signal) : reconcile(key, instance, signal),
    );
  }

  async function reconcile(key: string, instance: T, signal: AbortSignal): Promise<void> {
    if (instance.status?.ignoreReconciliation === true) return;
    const { isRemote, health, objects } = await work.bringUp(instance, signal);
    await writeStatus(instance, health, signal, objects);
    if (!health.ready || objects?.fault !== undefined) queue.addAfter(key, work.recheckMs.unready);
    else if (isRemote) queue.addAfter(key, work.recheckMs.remote);
  }

  async function finalize(key: string, instance: T, signal: AbortSignal): Promise<void> {
    const { finalizer } = work;
    if (!hasFinalizer(instance, finalizer)) return;
    const remainder = await work.remove(instance, signal);
    if (remainder === undefined) {
      const transform = (current: KubeObject): KubeObject => withoutFinalizer(current, finalizer);
      return await updateControlled(port, instances, instance, { transform }, signal);
    }
    await writeStatus(instance, { ready: false, ...remainder }, signal);
    queue.addAfter(key, work.recheckMs.unready);
  }

  const writeStatus = (
    instance: T,
    health: VirtualClusterHealth,
    signal: AbortSignal,
    objects?: AppliedObjects,
  ): Promise<void> => {
    const status = work.statusOf(instance, health, clock.now(), objects);
    const transform = (current: KubeObject): KubeObject => ({ ...current, status });
    return updateControlled(port, instances, instance, { subresource: "status", transform }, signal);
  };

  const following = followInstances({ instances, clusters, ...(templates && { templates }) }, scheduler, queue);
  const faults = work.faults?.onChange((uid) => {
    for (const object of instances.view.list(instances.keys.prefix)) {
      if (object.decode().metadata.uid === uid) queue.add(object.key);
    }
  });
  const connections = work.connections?.onChange((namespace, name) => queue.add(instances.keys.of(namespace, name)));
  const feeds = [following, faults, connections].filter((feed) => feed !== undefined);
  return createQueueController(queue, feeds);
}

/** Clusters of one project wait for each other alone. `isRemote` may throw ApiErrors, as it does for a cluster that is unknown. */
export function laneOfInstance({ metadata: { namespace = "" } }: KubeObject, isRemote: () => boolean): string {
  try {
    return isRemote() ? namespace : "";
  } catch (error) {
    if (error instanceof ApiError) return "";
    throw error;
  }
}

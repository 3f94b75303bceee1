// Brings every virtual cluster instance to where it should be, and removes all that it has when it goes.

import { type ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { passingOverRaces, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { PlatformNames } from "../../platform-names.ts";
import { hasFinalizer, withoutFinalizer } from "../../resources/finalizers.ts";
import { virtualClusterFinalizer } from "../../resources/virtual-cluster-instances/strategy.ts";
import type {
  VirtualClusterInstance,
  VirtualClusterInstanceStatus,
} from "../../resources/virtual-cluster-instances/virtual-cluster-instance.ts";
import { type BackendRegistry, reasonOf } from "../../virtual-clusters/backend-registry.ts";
import type { VirtualClusterHealth } from "../../virtual-clusters/virtual-cluster-backend.ts";
import { followInstances } from "../follow-instances.ts";
import { instanceStatus } from "./instance-status.ts";

export type VirtualClusterControllerOptions = {
  readonly names: PlatformNames;
  readonly instances: ControlledResource;
  readonly clusters: ControlledResource;
  readonly backends: BackendRegistry;
  /** Removes everything that an instance has beside its object. By uid; may be called again. */
  readonly remove: (uid: string, signal: AbortSignal) => Promise<void>;
  /** Virtual clusters that could not be reached, and those that others run, are looked at again after this. */
  readonly recheckMs: number;
};

export function createVirtualClusterController(
  port: Omit<ControllerPort, "resources">,
  { names, instances, clusters, backends, remove, recheckMs }: VirtualClusterControllerOptions,
): Controller {
  const { clock, scheduler } = port.runtime;
  const { view } = instances;
  const finalizer = virtualClusterFinalizer(names);
  const queue = new WorkQueue(port, { name: "virtual_cluster_instance", process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // What is stored has gone through the schema of its kind.
    const instance = view.get(key)?.decode() as VirtualClusterInstance | undefined;
    if (instance === undefined) return;
    await passingOverRaces(() =>
      isBeingDeleted(instance) ? finalize(instance, signal) : reconcile(key, instance, signal),
    );
  }

  async function reconcile(key: string, instance: VirtualClusterInstance, signal: AbortSignal): Promise<void> {
    if (instance.status?.ignoreReconciliation === true) return;
    const { isRemote, health } = await bringUp(instance, signal);
    await writeStatus(instance, instanceStatus(instance, health, clock.now()), signal);
    if (!health.ready || isRemote) queue.addAfter(key, recheckMs);
  }

  async function bringUp(
    instance: VirtualClusterInstance,
    signal: AbortSignal,
  ): Promise<{ readonly isRemote: boolean; readonly health: VirtualClusterHealth }> {
    try {
      const backend = backends.backendOf(instance);
      const { isRemote } = backend;
      const before = await backend.health(signal);
      if (before.ready) return { isRemote, health: before };
      await backend.provision(signal);
      return { isRemote, health: await backend.health(signal) };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return { isRemote: true, health: { ready: false, ...reasonOf(error) } };
    }
  }

  async function finalize(instance: VirtualClusterInstance, signal: AbortSignal): Promise<void> {
    if (!hasFinalizer(instance, finalizer)) return;
    await remove(instance.metadata.uid ?? "", signal);
    await update(instance, "", (current) => withoutFinalizer(current, finalizer), signal);
  }

  const writeStatus = (
    instance: VirtualClusterInstance,
    status: VirtualClusterInstanceStatus,
    signal: AbortSignal,
  ): Promise<void> => update(instance, "status", (current) => ({ ...current, status }), signal);

  const update = (
    instance: VirtualClusterInstance,
    subresource: string,
    transform: (current: KubeObject) => KubeObject,
    signal: AbortSignal,
  ): Promise<void> => updateControlled(port, instances, instance, { subresource, transform }, signal);

  const following = followInstances({ instances, clusters }, scheduler, queue);
  return createQueueController(queue, [following]);
}

/** A backend that says no; anything else is a fault, and the work is tried again. */
const isRefusal = (error: unknown): error is ApiError => isApiError(error, "ServiceUnavailable");

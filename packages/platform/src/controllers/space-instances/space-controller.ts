// Brings every space to where it should be, and removes all that it has when it goes.

import { ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { passingOverRaces, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { PlatformNames } from "../../platform-names.ts";
import type { UpstreamFault } from "../../proxy/upstream-failure.ts";
import { hasFinalizer, withoutFinalizer } from "../../resources/finalizers.ts";
import type { SpaceInstance } from "../../resources/space-instances/space-instance.ts";
import { spaceFinalizer } from "../../resources/space-instances/strategy.ts";
import { reasonOf } from "../../virtual-clusters/backend-registry.ts";
import type { SpaceRegistry } from "../../virtual-clusters/space-registry.ts";
import type { VirtualClusterHealth } from "../../virtual-clusters/virtual-cluster-backend.ts";
import { followInstances } from "../follow-instances.ts";
import { insideRoles } from "../inside-bindings/inside-bindings-controller.ts";
import { spaceStatus } from "./space-status.ts";

export type SpaceControllerOptions = {
  readonly names: PlatformNames;
  readonly instances: ControlledResource;
  readonly clusters: ControlledResource;
  readonly spaces: SpaceRegistry;
  /** One that is in a cluster that others run may cease to be reached: it is looked at again after this. */
  readonly recheckMs: number;
};

/** Spaces that could not be reached, or that are on their way out, are looked at again after this at the latest. */
const WAITING_MS = 5_000;

export function createSpaceController(
  port: Omit<ControllerPort, "resources">,
  { names, instances, clusters, spaces, recheckMs }: SpaceControllerOptions,
): Controller {
  const { clock, scheduler } = port.runtime;
  const { view } = instances;
  const finalizer = spaceFinalizer(names);
  const waitingMs = Math.min(WAITING_MS, recheckMs);
  const queue = new WorkQueue(port, { name: "space_instance", process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // What is stored has gone through the schema of its kind.
    const instance = view.get(key)?.decode() as SpaceInstance | undefined;
    if (instance === undefined) return;
    await passingOverRaces(() =>
      isBeingDeleted(instance) ? finalize(key, instance, signal) : reconcile(key, instance, signal),
    );
  }

  async function reconcile(key: string, instance: SpaceInstance, signal: AbortSignal): Promise<void> {
    if (instance.status?.ignoreReconciliation === true) return;
    const { isRemote, health } = await bringUp(instance, signal);
    const status = spaceStatus(instance, health, clock.now());
    await update(instance, "status", (current) => ({ ...current, status }), signal);
    if (!health.ready) queue.addAfter(key, waitingMs);
    else if (isRemote) queue.addAfter(key, recheckMs);
  }

  async function bringUp(
    instance: SpaceInstance,
    signal: AbortSignal,
  ): Promise<{ readonly isRemote: boolean; readonly health: VirtualClusterHealth }> {
    try {
      const space = spaces.spaceOf(instance);
      await space.provision(instance.spec?.template?.metadata ?? {}, signal);
      await space.bindRoles(insideRoles(instance), signal);
      return { isRemote: space.isRemote, health: await space.health(signal) };
    } catch (error) {
      return { isRemote: true, health: { ready: false, ...faultOf(error) } };
    }
  }

  async function finalize(key: string, instance: SpaceInstance, signal: AbortSignal): Promise<void> {
    if (!hasFinalizer(instance, finalizer)) return;
    const remainder = await remove(instance, signal);
    if (remainder === undefined) {
      await update(instance, "", (current) => withoutFinalizer(current, finalizer), signal);
      return;
    }
    const status = spaceStatus(instance, { ready: false, ...remainder }, clock.now());
    await update(instance, "status", (current) => ({ ...current, status }), signal);
    queue.addAfter(key, waitingMs);
  }

  /** What the deletion waits for; undefined when nothing of the space is left. */
  async function remove(instance: SpaceInstance, signal: AbortSignal): Promise<UpstreamFault | undefined> {
    const { cluster = "", namespace = "" } = instance.spec?.clusterRef ?? {};
    // What lived in a cluster that is no longer connected cannot be removed from here.
    if (clusters.view.get(clusters.keys.of("", cluster)) === undefined) return undefined;
    try {
      if (await spaces.spaceOf(instance).remove(signal)) return undefined;
      return { reason: "NamespaceTerminating", message: `its namespace ${namespace} has not ended yet` };
    } catch (error) {
      const { reason, message } = faultOf(error);
      return {
        reason,
        message: `it is deleted as soon as its namespace ${namespace} is, but ${message}; to leave that behind, delete the cluster ${cluster} from the platform`,
      };
    }
  }

  const update = (
    instance: SpaceInstance,
    subresource: string,
    transform: (current: KubeObject) => KubeObject,
    signal: AbortSignal,
  ): Promise<void> => updateControlled(port, instances, instance, { subresource, transform }, signal);

  const following = followInstances({ instances, clusters }, scheduler, queue);
  return createQueueController(queue, [following]);
}

/** Why a space is not ready. Throws what says nothing about the space. */
function faultOf(error: unknown): UpstreamFault {
  if (!(error instanceof ApiError)) throw error;
  if (OUT_OF_REACH.includes(error.code)) return reasonOf(error);
  // The namespace is somebody else's.
  if (isApiError(error, "Conflict")) return { reason: "NamespaceTaken", message: error.message };
  throw error;
}

/** Its cluster cannot be reached, does not do what it should, or does not answer. */
const OUT_OF_REACH: readonly number[] = [502, 503, 504];

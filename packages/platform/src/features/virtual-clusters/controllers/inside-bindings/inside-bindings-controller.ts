// Maintains one ClusterRoleBinding in every ready virtual cluster for each role that the platform grants there.

import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { Foundation } from "../../../../foundation/foundation.ts";
import type { BackendRegistry } from "../../backend-registry.ts";
import { insideRoles } from "../../inside-roles.ts";
import type { VirtualClusterBackend } from "../../virtual-cluster-backend.ts";
import { laneOfInstance } from "../instance-controller.ts";

/** Clusters without notifications of changes are checked again after this time. */
const LOOK_AGAIN_MS = 5 * 60_000;

/** Most of the time of remote ones is spent waiting. */
const CONCURRENCY = 16;

/** State of one instance, so that a change of another object costs nothing. */
type Kept = {
  readonly state: string;
  readonly backend: VirtualClusterBackend;
  /** True when it has to be looked at once more. */
  isStale: boolean;
  watch: Disposable | undefined;
};

export function createInsideBindingsController(
  port: Omit<ControllerPort, "resources">,
  { names, own }: Pick<Foundation, "names" | "own">,
  backends: BackendRegistry,
): Controller {
  const instances = own("VirtualClusterInstance");
  const { scheduler } = port.runtime;
  const keptOf = new Map<string, Kept>();
  const queue = new WorkQueue(port, { name: "inside_bindings", process, concurrency: CONCURRENCY, laneOf });

  function laneOf(key: string): string {
    // Stored objects have gone through the schema of their kind.
    const instance = instances.view.get(key)?.decode() as VirtualClusterInstance | undefined;
    const isReady = instance?.status?.phase === "Ready" && !isBeingDeleted(instance);
    return isReady ? laneOfInstance(instance, () => backends.backendOf(instance).isRemote) : "";
  }

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // Stored objects have gone through the schema of their kind.
    const instance = instances.view.get(key)?.decode() as VirtualClusterInstance | undefined;
    if (instance === undefined || isBeingDeleted(instance) || instance.status?.phase !== "Ready") return release(key);
    const roles = insideRoles(instance, names);
    const state = JSON.stringify([instance.metadata.uid, roles]);
    const known = keptOf.get(key);
    if (known?.state === state && !known.isStale) return;
    try {
      const kept = known?.state === state ? known : keep(key, state, backends.backendOf(instance));
      kept.isStale = false;
      await kept.backend.bindRoles(roles, signal);
    } catch (error) {
      release(key);
      // It is not ready any more; its status will say so, and this runs again when it is.
      if (!isApiError(error, "ServiceUnavailable")) throw error;
    }
  }

  function keep(key: string, state: string, backend: VirtualClusterBackend): Kept {
    release(key);
    const look = (): void => {
      kept.isStale = true;
      queue.add(key);
    };
    const kept: Kept = { state, backend, isStale: true, watch: undefined };
    kept.watch = backend.followRoles === undefined ? lookAgain(look) : backend.followRoles(look);
    keptOf.set(key, kept);
    return kept;
  }

  function lookAgain(look: () => void): Disposable {
    let next: Disposable | undefined;
    const plan = (): void => {
      next = scheduler.schedule(LOOK_AGAIN_MS, () => {
        look();
        plan();
      });
    };
    plan();
    return { [Symbol.dispose]: () => next?.[Symbol.dispose]() };
  }

  function release(key: string): void {
    keptOf.get(key)?.watch?.[Symbol.dispose]();
    keptOf.delete(key);
  }

  const following = followKeys(instances, scheduler, (key) => queue.add(key));
  const keeping = {
    [Symbol.dispose]() {
      for (const key of [...keptOf.keys()]) release(key);
    },
  };
  return createQueueController(queue, [following, keeping]);
}

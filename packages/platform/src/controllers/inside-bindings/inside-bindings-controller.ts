// Keeps, inside every virtual cluster that is ready, one ClusterRoleBinding for each role that the platform gives there.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { followView } from "@postern/apiserver/cache/follow-view";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { isBeingDeleted } from "../../resources/finalizers.ts";
import type { VirtualClusterInstance } from "../../resources/virtual-cluster-instances/virtual-cluster-instance.ts";
import type { BackendRegistry } from "../../virtual-clusters/backend-registry.ts";

export type InsideBindingsOptions = {
  readonly instances: ControlledResource;
  readonly backends: BackendRegistry;
};

/** For owners and administrators, users and viewers of the project. */
const STANDARD_ROLES = ["cluster-admin", "edit", "view"];

export function createInsideBindingsController(
  port: Omit<ControllerPort, "resources">,
  { instances: { view, keys }, backends }: InsideBindingsOptions,
): Controller {
  const { scheduler } = port.runtime;
  /** What was kept last, by key, so that a change of something else costs nothing. */
  const kept = new Map<string, string>();
  const queue = new WorkQueue({ scheduler, onError: port.onError, process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // What is stored has gone through the schema of its kind.
    const instance = view.get(key)?.decode() as VirtualClusterInstance | undefined;
    if (instance === undefined || isBeingDeleted(instance) || instance.status?.phase !== "Ready") {
      kept.delete(key);
      return;
    }
    const roles = insideRoles(instance);
    const state = JSON.stringify([instance.metadata.uid, roles]);
    if (kept.get(key) === state) return;
    try {
      await backends.backendOf(instance).bindRoles(roles, signal);
      kept.set(key, state);
    } catch (error) {
      // It is not ready any more; its status will say so, and this runs again when it is.
      if (!isApiError(error, "ServiceUnavailable")) throw error;
    }
  }

  const following = followView({ view, prefix: keys.prefix }, scheduler, {
    replace(objects) {
      for (const { key } of objects) queue.add(key);
    },
    put: ({ key }) => queue.add(key),
    delete: ({ key }) => queue.add(key),
  });
  return {
    idle: () => queue.idle(),
    [Symbol.dispose]() {
      following[Symbol.dispose]();
      queue[Symbol.dispose]();
    },
  };
}

/** The ClusterRoles that anybody can have inside, each once. */
export function insideRoles({ spec }: VirtualClusterInstance): readonly string[] {
  const extra = (spec?.extraAccessRules ?? []).flatMap(({ clusterRole = "" }) =>
    clusterRole === "" ? [] : [clusterRole],
  );
  return [...new Set([...STANDARD_ROLES, ...extra])];
}

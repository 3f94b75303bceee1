// Wakes a sleeping embedded virtual cluster when a request arrives for it.

import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createSystemContext } from "@postern/apiserver/context/system-context";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { Foundation } from "../../foundation/foundation.ts";
import { unreachableError } from "../../foundation/upstream/upstream-failure.ts";
import { awakened, isAsleep, isHeldAsleep, SLEEPING } from "./sleep.ts";

export type WakeUp = (instance: VirtualClusterInstance) => Awaitable<void>;

/** Does nothing for one that is awake. The result fails with ApiError 503 for one that no request wakes. */
export const createWakeUp = (foundation: Foundation): WakeUp => {
  const wakeUp = createWakeUpOfSleeping(foundation);
  return (instance) => (isAsleep(instance, foundation.names) ? wakeUp(instance) : undefined);
};

const createWakeUpOfSleeping =
  ({ names, own, runtime: { clock }, signal }: Foundation) =>
  async (instance: VirtualClusterInstance): Promise<void> => {
    const now = clock.now();
    if (isHeldAsleep(instance, names, now)) {
      const message = `requests do not wake it: remove the annotation sleepmode.${names.domain}/force`;
      throw unreachableError({ reason: SLEEPING, message });
    }
    const { definition, genericStore } = own("VirtualClusterInstance");
    const { namespace = "", name = "", uid = "" } = instance.metadata;
    const { group, version, plural } = definition;
    const call = { verb: "update", apiGroup: group, apiVersion: version, resource: plural, namespace, name };
    const update = { uid, subresource: "", transform: (current: KubeObject) => awakened(current, names, now) };
    try {
      await genericStore.update(createSystemContext(call, { clock, signal }), namespace, name, update, {
        dryRun: false,
      });
    } catch (error) {
      // Deleted, or already woken.
      if (!isApiError(error, "NotFound") && !isApiError(error, "Conflict")) throw error;
    }
  };

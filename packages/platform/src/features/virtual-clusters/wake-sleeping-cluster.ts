// Wakes a sleeping embedded virtual cluster or space when a request arrives for it.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { ignoringConflicts } from "@postern/apiserver/controllers/controlled-objects";
import { CONTROLLER_WRITE, contextOf } from "@postern/apiserver/controllers/controller-port";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { Foundation } from "../../foundation/foundation.ts";
import { unreachableError } from "../../foundation/upstream/upstream-failure.ts";
import { awakened, isAsleep, isHeldAsleep, SLEEPING, type SleepingInstance, type SleepingKind } from "./sleep.ts";

export type WakeUp = (kind: SleepingKind, instance: SleepingInstance) => Awaitable<void>;

/** Does nothing for one that is awake. The result fails with ApiError 503 for one that no request wakes. */
export const createWakeUp = (foundation: Foundation): WakeUp => {
  const wakeUp = createWakeUpOfSleeping(foundation);
  return (kind, instance) => (isAsleep(instance, foundation.names) ? wakeUp(kind, instance) : undefined);
};

const createWakeUpOfSleeping =
  ({ names, own, runtime, signal }: Foundation) =>
  async (kind: SleepingKind, instance: SleepingInstance): Promise<void> => {
    const now = runtime.clock.now();
    if (isHeldAsleep(instance, names, now)) {
      const message = `requests do not wake it: remove the annotation sleepmode.${names.domain}/force`;
      throw unreachableError({ reason: SLEEPING, message });
    }
    const resource = own(kind);
    const { namespace = "", name = "", uid = "" } = instance.metadata;
    const context = contextOf({ runtime }, { verb: "update", resource, namespace, name }, signal);
    const update = { uid, subresource: "", transform: (current: KubeObject) => awakened(current, names, now) };
    // It may be deleted, or already woken.
    await ignoringConflicts(() => resource.genericStore.update(context, namespace, name, update, CONTROLLER_WRITE));
  };

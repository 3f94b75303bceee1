// Reports clusters that stopped their thread: records an Event, and has the controller reconcile the instance.

import type { PlatformNames } from "@postern/api/platform-names";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { EventRecorder } from "@postern/apiserver/controllers/event-recorder";

export type ClusterFaults = {
  /** Calls back with the uid of the instance, until disposed. */
  onChange(listener: (uid: string) => void): Disposable;
  /** The cluster stopped its thread; `message` says why, as a sentence without a period. */
  report(uid: string, message: string): void;
};

export const THREAD_ENDED = "ClusterThreadEnded";

/** `instances` are the views of VirtualClusterInstances and SpaceInstances. */
export function createClusterFaults(
  names: Pick<PlatformNames, "managementGroup">,
  instances: readonly ViewPrefix[],
  recordEvent: EventRecorder,
): ClusterFaults {
  const listeners = new Set<(uid: string) => void>();
  return {
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    report(uid, message) {
      for (const { view, prefix } of instances) {
        // Faults are rare.
        const found = view.list(prefix).find((object) => object.decode().metadata.uid === uid);
        if (found === undefined) continue;
        const { kind, metadata } = found.decode();
        const { namespace = "", name = "" } = metadata;
        recordEvent({
          involvedObject: { apiVersion: `${names.managementGroup}/v1`, kind, namespace, name, uid },
          type: "Warning",
          reason: THREAD_ENDED,
          message: `${message}; the virtual cluster starts again in a thread of its own`,
        });
      }
      for (const listener of [...listeners]) listener(uid);
    },
  };
}

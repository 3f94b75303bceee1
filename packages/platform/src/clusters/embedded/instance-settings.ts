// What instances say of the clusters that this process serves for them, by their uids and without a search.

import { followView, type ViewPrefix } from "@postern/apiserver/cache/follow-view";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { VirtualClusterInstance } from "../../api/virtual-cluster-instance.ts";
import type { ClusterSettings } from "./embedded-cluster.ts";

export type InstanceSettings = Disposable & {
  of(uid: string): ClusterSettings;
};

const DEFAULTS: ClusterSettings = { keepsWorkloads: false };

/** Keeps something only of those that say anything. */
export function createInstanceSettings(instances: ViewPrefix, scheduler: Scheduler): InstanceSettings {
  const settings = new Map<string, ClusterSettings>();

  const read = (instance: VirtualClusterInstance): void => {
    const { uid = "" } = instance.metadata;
    const found = settingsOf(instance);
    if (found === undefined) settings.delete(uid);
    else settings.set(uid, found);
  };

  const following = followView(instances, scheduler, {
    replace(objects) {
      settings.clear();
      // What the store holds has gone through the schema of the kind.
      for (const object of objects) read(object.decode() as VirtualClusterInstance);
    },
    put: (object) => read(object.decode() as VirtualClusterInstance),
    delete: (object) => void settings.delete(object.decode().metadata.uid ?? ""),
  });
  return {
    of: (uid) => settings.get(uid) ?? DEFAULTS,
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

function settingsOf({ spec }: VirtualClusterInstance): ClusterSettings | undefined {
  const keepsWorkloads = spec?.template?.workloads === "stored";
  return keepsWorkloads ? { keepsWorkloads } : undefined;
}

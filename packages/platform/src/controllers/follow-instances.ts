// Brings instances to their controller when they change, and when a cluster does in which they may live.

import { followView } from "@postern/apiserver/cache/follow-view";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import type { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { Scheduler } from "@postern/apiserver/runtime/clock";

export type InstancesAndClusters = { readonly instances: ControlledResource; readonly clusters: ControlledResource };

export function followInstances(
  { instances, clusters }: InstancesAndClusters,
  scheduler: Scheduler,
  queue: Pick<WorkQueue, "add">,
): Disposable {
  const ofInstances = followKeys(instances, scheduler, (key) => queue.add(key));
  const requeueAll = (): void => {
    for (const { key } of instances.view.list(instances.keys.prefix)) queue.add(key);
  };
  // Whether an instance can be reached follows from its cluster as well.
  const ofClusters = followView({ view: clusters.view, prefix: clusters.keys.prefix }, scheduler, {
    replace: requeueAll,
    put: requeueAll,
    delete: requeueAll,
  });
  return {
    [Symbol.dispose]() {
      ofInstances[Symbol.dispose]();
      ofClusters[Symbol.dispose]();
    },
  };
}

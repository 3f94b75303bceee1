// Brings instances to their controller when they change, and when a cluster does in which they may live.

import { followView } from "@postern/apiserver/cache/follow-view";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import type { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { Scheduler } from "@postern/apiserver/runtime/clock";

export type InstancesAndClusters = { readonly instances: ControlledResource; readonly clusters: ControlledResource };

export function followInstances(
  { instances: { view, keys }, clusters }: InstancesAndClusters,
  scheduler: Scheduler,
  queue: Pick<WorkQueue, "add">,
): Disposable {
  const requeueAll = (): void => {
    for (const { key } of view.list(keys.prefix)) queue.add(key);
  };
  const ofInstances = followView({ view, prefix: keys.prefix }, scheduler, {
    replace: requeueAll,
    put: ({ key }) => queue.add(key),
    delete() {},
  });
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

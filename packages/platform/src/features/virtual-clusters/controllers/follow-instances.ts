// Enqueues instances when they change, and when the cluster changes that they may run in.

import { followView } from "@postern/apiserver/cache/view-informer";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import type { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { Scheduler } from "@postern/apiserver/runtime/clock";

export type InstancesAndClusters = {
  readonly instances: ControlledResource;
  readonly clusters: ControlledResource;
  /** Templates that instances are made from. Absent: none that could change. */
  readonly templates?: ControlledResource;
};

export function followInstances(
  { instances, clusters, templates }: InstancesAndClusters,
  scheduler: Scheduler,
  queue: Pick<WorkQueue, "add">,
): Disposable {
  const ofInstances = followKeys(instances, scheduler, (key) => queue.add(key));
  const requeueAll = (): void => {
    for (const { key } of instances.view.list(instances.keys.prefix)) queue.add(key);
  };
  // Whether an instance is reachable also depends on its cluster, and its content on its template.
  const others = [clusters, ...(templates === undefined ? [] : [templates])].map(({ view, keys }) =>
    followView({ view, prefix: keys.prefix }, scheduler, { replace: requeueAll, put: requeueAll, delete: requeueAll }),
  );
  return {
    [Symbol.dispose]() {
      ofInstances[Symbol.dispose]();
      for (const each of others) each[Symbol.dispose]();
    },
  };
}

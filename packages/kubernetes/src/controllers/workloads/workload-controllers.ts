// The controllers of workloads in a cluster without nodes of its own: they run while the cluster says so.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createEventRecorder } from "@postern/apiserver/controllers/event-recorder";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { createAllowance, LOOKS } from "./allowance.ts";
import { createDaemonSetController } from "./daemon-sets/daemon-set-controller.ts";
import { createDeploymentController } from "./deployments/deployment-controller.ts";
import { createCronJobController } from "./jobs/cron-job-controller.ts";
import { createJobController } from "./jobs/job-controller.ts";
import { createLostNodePods } from "./lost-nodes/lost-node-pods.ts";
import { followOwnedObjects } from "./owned-objects.ts";
import { createReplicaSetController, REPLICA_SETS, REPLICATION_CONTROLLERS } from "./replica-set-controller.ts";
import { createResourceClaimController } from "./resource-claims/resource-claim-controller.ts";
import { createStatefulSetController } from "./stateful-sets/stateful-set-controller.ts";
import { createTaintEvictionController } from "./taint-evictions/taint-eviction-controller.ts";
import { createVolumeBinder } from "./volumes/volume-binder.ts";
import type { WorkloadPort } from "./workload-port.ts";

export type WorkloadControllersDeps = {
  /** The resource of a kind that every cluster serves. */
  readonly resource: (group: string, kind: string) => InstalledResource;
  /** Read when the controllers are created, and every few seconds from then on. */
  readonly runsWorkloads: () => boolean;
};

const CHECK_MS = 2_000;
/** Pods, Jobs and the like that the controllers of one cluster create and delete. */
const WRITES = { perSecond: 50, burst: 500 };

export function createWorkloadControllers(port: ControllerPort, deps: WorkloadControllersDeps): Controller {
  const { scheduler } = port.runtime;
  let running: Controller | undefined;
  let timer: Disposable | undefined;
  const check = (): void => {
    const isOn = deps.runsWorkloads();
    if (isOn) running ??= startAll(port, deps);
    else {
      running?.[Symbol.dispose]();
      running = undefined;
    }
    timer = scheduler.schedule(CHECK_MS, check);
  };
  check();
  return {
    idle: async () => await running?.idle(),
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      running?.[Symbol.dispose]();
    },
  };
}

function startAll(base: ControllerPort, { resource }: WorkloadControllersDeps): Controller {
  const { scheduler, clock } = base.runtime;
  const lifetime = new AbortController();
  const pods = followOwnedObjects(resource("", "Pod"), scheduler);
  const replicaSets = followOwnedObjects(resource("apps", "ReplicaSet"), scheduler);
  const jobs = followOwnedObjects(resource("batch", "Job"), scheduler);
  const revisions = followOwnedObjects(resource("apps", "ControllerRevision"), scheduler);
  const port: WorkloadPort = {
    ...base,
    resource,
    pods,
    writes: createAllowance(clock, WRITES),
    looks: createAllowance(clock, LOOKS),
    recorder: (component) =>
      createEventRecorder({ ...base, events: () => resource("", "Event"), component, signal: lifetime.signal }),
  };
  const controllers = [
    createDeploymentController(port, replicaSets),
    createReplicaSetController(port, REPLICA_SETS),
    createReplicaSetController(port, REPLICATION_CONTROLLERS),
    createCronJobController(port, jobs),
    createJobController(port),
    createStatefulSetController(port, revisions),
    createDaemonSetController(port, revisions),
    createVolumeBinder(port),
    createResourceClaimController(port),
    createTaintEvictionController(port),
    createLostNodePods(port),
  ];
  return {
    async idle() {
      // Each may give work to those before it.
      for (let round = 0; round < controllers.length; round++)
        for (const controller of controllers) await controller.idle();
    },
    [Symbol.dispose]() {
      lifetime.abort();
      for (const controller of controllers) controller[Symbol.dispose]();
      for (const index of [replicaSets, jobs, revisions]) index[Symbol.dispose]();
      pods[Symbol.dispose]();
    },
  };
}

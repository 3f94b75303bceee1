// Lets go of pods whose Job is gone: the finalizer by which a Job holds its pods would keep them, and their namespace, for ever.
// Source: k8s.io/kubernetes/pkg/controller/job/job_controller.go (syncOrphanPod)

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { createScans } from "@postern/apiserver/controllers/scans";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { inSlices } from "@postern/apiserver/runtime/in-slices";
import { linksOf } from "../../garbage-collector/graph-builder.ts";
import { controllerOf } from "../owned-objects.ts";
import { podStateOf } from "../pod-state.ts";
import { TRACKING } from "./job.ts";
import { releasePod } from "./job-pods.ts";

const TRACKED = Buffer.from(JSON.stringify(TRACKING));

/** Runs also while the other controllers of workloads do not: they may have run before. */
export function createJobPodRelease(
  port: ControllerPort,
  { pods, jobs }: { readonly pods: InstalledResource; readonly jobs: InstalledResource },
): Controller {
  const queue = new WorkQueue(port, { name: "job_pod_release", process, concurrency: 1 });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const object = pods.view.get(key);
    if (object === undefined || !podStateOf(object).finalizers.includes(TRACKING)) return;
    const owner = controllerOf(object);
    const { namespace } = pods.keys.parse(key);
    const job = owner?.kind === "Job" ? jobs.view.get(jobs.keys.of(namespace, owner.name)) : undefined;
    const isHeld = job !== undefined && linksOf(job).metadata.uid === owner?.uid;
    if (!isHeld) await releasePod(port, pods, object, signal);
  }

  const look = (object: CachedObject): void => {
    if (object.has(TRACKED)) queue.add(object.key);
  };
  const scans = createScans();
  const following = followView({ view: pods.view, prefix: pods.keys.prefix }, port.runtime.scheduler, {
    replace: (objects) => scans.add(inSlices(objects, look, scans.signal)),
    put: look,
  });
  return createQueueController(filledQueue(scans, queue), [following]);
}

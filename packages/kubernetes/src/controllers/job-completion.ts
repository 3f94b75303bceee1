// Marks Jobs of a cluster without nodes as complete, if the owner of the cluster wants that: charts wait for the Jobs of their hooks. The condition
// says that the Job did not run.

import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { Job } from "../builtin/workloads/jobs/job-fields.ts";

const MESSAGE = "no pod has run: this virtual cluster has no nodes, and completes Jobs immediately";

/** `completesJobs` is called for every unfinished Job, when it is written and when the controller starts. */
export function createJobCompletion(
  port: ControllerPort,
  jobs: InstalledResource,
  completesJobs: () => boolean,
): Controller {
  const { clock, scheduler } = port.runtime;
  const queue = new WorkQueue(port, { name: "job_completion", process, concurrency: 1 });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    if (!completesJobs()) return;
    // Stored objects have passed the schema of their kind.
    const job = jobs.view.get(key)?.decode() as Job | undefined;
    if (job === undefined || isBeingDeleted(job) || isFinished(job) || job.spec?.suspend === true) return;
    const now = formatTimestamp(clock.now());
    const transform = (current: KubeObject): KubeObject =>
      isFinished(current as Job) ? current : { ...current, status: completed(current as Job, now) };
    await updateStatus(port, jobs, job, transform, signal);
  }

  return createQueueController(queue, [followKeys(jobs, scheduler, (key) => queue.add(key))]);
}

const isFinished = ({ status }: Job): boolean =>
  (status?.conditions ?? []).some(
    ({ type, status: holds }) => (type === "Complete" || type === "Failed") && holds === "True",
  );

function completed({ spec, status }: Job, now: string): NonNullable<Job["status"]> {
  const condition = (type: string) => ({
    type,
    status: "True",
    reason: "NoNodes",
    message: MESSAGE,
    lastProbeTime: now,
    lastTransitionTime: now,
  });
  return {
    ...status,
    startTime: status?.startTime ?? now,
    completionTime: now,
    succeeded: spec?.completions ?? 1,
    conditions: [...(status?.conditions ?? []), condition("SuccessCriteriaMet"), condition("Complete")],
  };
}

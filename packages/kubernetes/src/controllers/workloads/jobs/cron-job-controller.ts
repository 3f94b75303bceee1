// CronJobs: create a Job each time that their schedule says.
// Source: k8s.io/kubernetes/pkg/controller/cronjob/{cronjob_controllerv2,utils}.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { deleteControlled, ignoringConflicts } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { createCreationBackoff } from "../creation-backoff.ts";
import { followOwners, type OwnedObjects } from "../owned-objects.ts";
import { createOwned, refusal } from "../pod-control.ts";
import { createSummaries, readStored } from "../read-stored.ts";
import { actingAs, controllerReference, eventsBy, retryLater, type WorkloadPort } from "../workload-port.ts";
import { statusMembers, writeStatus } from "../write-status.ts";
import { type CronSchedule, lastTime, parseCron } from "./cron-schedule.ts";
import { finishOf, type Job, type JobStatus } from "./job.ts";

type Reference = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
};

type CronJob = KubeObject & {
  readonly spec: {
    readonly schedule: string;
    readonly timeZone?: string;
    readonly startingDeadlineSeconds?: number | bigint;
    readonly concurrencyPolicy?: string;
    readonly suspend?: boolean;
    readonly successfulJobsHistoryLimit?: number;
    readonly failedJobsHistoryLimit?: number;
    readonly jobTemplate: {
      readonly metadata?: {
        readonly labels?: { readonly [name: string]: string };
        readonly annotations?: { readonly [name: string]: string };
      };
      readonly spec?: JsonObject;
    };
  };
  readonly status?: {
    readonly active?: readonly Reference[];
    readonly lastScheduleTime?: string;
    readonly lastSuccessfulTime?: string;
  };
};

/** A Job without its template, which may be large: a CronJob may have very many. */
type OwnedJob = KubeObject & { readonly status: Pick<JobStatus, "startTime" | "completionTime" | "conditions"> };

function summaryOfJob(job: Job): OwnedJob {
  const { apiVersion, kind, metadata, status = {} } = job;
  const { name = "", namespace = "", uid = "", deletionTimestamp } = metadata;
  const finish = finishOf(job);
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
    status: {
      ...(status.startTime === undefined ? {} : { startTime: status.startTime }),
      ...(status.completionTime === undefined ? {} : { completionTime: status.completionTime }),
      conditions: finish === undefined ? [] : [{ type: finish.type, status: finish.status }],
    },
  };
}

/** Unfinished Jobs of one CronJob: where nothing runs they pile up, one each minute. Upstream has no limit. */
export const MOST_ACTIVE = 100;
const SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp";

export function createCronJobController(base: WorkloadPort, ownedJobs: OwnedObjects): Controller {
  const port = actingAs(base, "cronjob-controller");
  const { clock, scheduler } = port.runtime;
  const cronJobs = port.resource("batch", "CronJob");
  const jobs = port.resource("batch", "Job");
  const says = eventsBy(port.recorder("cronjob-controller"));
  const backoff = createCreationBackoff(clock);
  const queue = new WorkQueue(port, { name: "cronjob", process });
  const summaries = createSummaries(port, summaryOfJob);

  async function process(key: string, signal: AbortSignal): Promise<void> {
    await ownedJobs.scanned();
    const busy = port.looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    const cronJob = readStored<CronJob>(port, cronJobs, key);
    if (cronJob === undefined) return;
    const owned = await summaries(ownedJobs.of(cronJob.metadata.uid ?? ""));
    const kept = await cleanUp(cronJob, owned, signal);
    const seen = withJobs(cronJob, kept);
    const status = isBeingDeleted(cronJob) ? seen : await schedule(key, { ...cronJob, status: seen }, kept, signal);
    if (!signal.aborted) await writeStatus(port, cronJobs, cronJob, statusMembers(status), signal);
  }

  /** The state of its Jobs, as the status shows it. */
  function withJobs(cronJob: CronJob, owned: readonly OwnedJob[]): NonNullable<CronJob["status"]> {
    const { active = [], ...status } = cronJob.status ?? {};
    const byUid = new Map(owned.map((job) => [job.metadata.uid, job]));
    const running = active.filter(({ uid, name = "" }) => {
      const job = byUid.get(uid);
      if (job === undefined) {
        says(cronJob, "Normal", "MissingJob", `Active job went missing: ${name}`);
        return false;
      }
      const finish = finishOf(job);
      if (finish === undefined) return true;
      says(cronJob, "Normal", "SawCompletedJob", `Saw completed job: ${name}, condition: ${finish.type}`);
      return false;
    });
    const ends = owned
      .filter((job) => finishOf(job)?.type === "Complete")
      .map(({ status: { completionTime = "" } = {} }) => completionTime);
    const last = [status.lastSuccessfulTime ?? "", ...ends].toSorted().at(-1) ?? "";
    return { active: running, ...status, ...(last === "" ? {} : { lastSuccessfulTime: last }) };
  }

  /** Creates the Job whose time has come, and comes back when the next one does. */
  async function schedule(
    key: string,
    cronJob: CronJob,
    owned: readonly OwnedJob[],
    signal: AbortSignal,
  ): Promise<NonNullable<CronJob["status"]>> {
    const { metadata, spec, status = {} } = cronJob;
    if (spec.suspend === true) return status;
    const times = parseCron(spec.schedule, spec.timeZone);
    if (times === undefined) {
      says(cronJob, "Warning", "UnparseableSchedule", `unparseable schedule: "${spec.schedule}"`);
      return status;
    }
    const now = clock.now();
    const from = earliest(cronJob, now);
    if (times.next(from) === undefined) {
      // Upstream's words for a day that no month has.
      const why = "time difference between two schedules is less than 1 second";
      says(cronJob, "Warning", "InvalidSchedule", `invalid schedule: ${spec.schedule} : ${why}`);
      return status;
    }
    const time = lastTime(times, from, now);
    if (time === undefined) {
      comeBack(key, times, now);
      return status;
    }
    const { startingDeadlineSeconds: deadline, concurrencyPolicy } = spec;
    if (deadline !== undefined && time + Number(deadline) * 1_000 < now) {
      says(cronJob, "Warning", "MissSchedule", `Missed scheduled time to start a job: ${formatTimestamp(time)}`);
      comeBack(key, times, now);
      return status;
    }
    const name = `${metadata.name}-${Math.floor(time / 60_000)}`;
    if (status.active?.some((each) => each.name === name) || status.lastScheduleTime === formatTimestamp(time)) {
      comeBack(key, times, now);
      return status;
    }
    const active = status.active ?? [];
    if (concurrencyPolicy === "Forbid" && active.length > 0) {
      const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
      says(cronJob, "Normal", "JobAlreadyActive", message);
      comeBack(key, times, now);
      return status;
    }
    if (concurrencyPolicy === "Replace") {
      const running = new Set(active.map(({ uid }) => uid));
      for (const job of owned) if (running.has(job.metadata.uid)) await remove(cronJob, job, signal);
      return await start(key, { ...cronJob, status: { ...status, active: [] } }, times, time, name, signal);
    }
    if (active.length >= MOST_ACTIVE) {
      const message = `Not starting job because ${active.length} jobs of it have not finished`;
      says(cronJob, "Warning", "TooManyActiveJobs", message);
      comeBack(key, times, now);
      return status;
    }
    return await start(key, cronJob, times, time, name, signal);
  }

  async function start(
    key: string,
    cronJob: CronJob,
    times: CronSchedule,
    time: number,
    name: string,
    signal: AbortSignal,
  ): Promise<NonNullable<CronJob["status"]>> {
    const { metadata, spec, status = {} } = cronJob;
    const { uid = "", generation = 0, namespace = "" } = metadata;
    const delay = Math.max(backoff.delayMs(uid, generation), port.writes.take(1) === 0 ? port.writes.turnMs() : 0);
    if (delay > 0) {
      retryLater(queue, key, delay);
      return status;
    }
    const { labels, annotations } = spec.jobTemplate.metadata ?? {};
    const job: KubeObject = {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: {
        name,
        namespace,
        ...(labels === undefined ? {} : { labels }),
        annotations: { ...annotations, [SCHEDULED]: inZone(time, spec.timeZone) },
        ownerReferences: [controllerReference(cronJob)],
      },
      spec: spec.jobTemplate.spec ?? {},
    };
    try {
      await createOwned(port, jobs, job, signal);
      says(cronJob, "Normal", "SuccessfulCreate", `Created job ${name}`);
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) {
        const { message } = refusal(error);
        says(cronJob, "Warning", "FailedCreate", `Error creating job: ${message}`);
        backoff.failed(uid, generation);
        retryLater(queue, key, backoff.delayMs(uid, generation));
        return status;
      }
    }
    backoff.succeeded(uid);
    comeBack(key, times, clock.now());
    const made = jobs.view.get(jobs.keys.of(namespace, name))?.decode();
    const isOurs = made?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
    if (made === undefined || !isOurs) return { ...status, lastScheduleTime: formatTimestamp(time) };
    const reference: Reference = {
      kind: "Job",
      namespace,
      name,
      uid: made.metadata.uid ?? "",
      apiVersion: "batch/v1",
      resourceVersion: made.metadata.resourceVersion ?? "",
    };
    return { ...status, active: [...(status.active ?? []), reference], lastScheduleTime: formatTimestamp(time) };
  }

  const comeBack = (key: string, times: CronSchedule, now: number): void => {
    const next = times.next(now);
    if (next !== undefined) retryLater(queue, key, next - now);
  };

  function earliest({ metadata, spec, status }: CronJob, now: number): number {
    const since = Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp ?? "") || now;
    const { startingDeadlineSeconds } = spec;
    return startingDeadlineSeconds === undefined
      ? since
      : Math.max(since, now - Number(startingDeadlineSeconds) * 1_000);
  }

  async function cleanUp(
    cronJob: CronJob,
    owned: readonly OwnedJob[],
    signal: AbortSignal,
  ): Promise<readonly OwnedJob[]> {
    if (isBeingDeleted(cronJob)) return owned;
    const { successfulJobsHistoryLimit: successes, failedJobsHistoryLimit: failures } = cronJob.spec;
    const surplus = [...surplusOf(owned, "Complete", successes), ...surplusOf(owned, "Failed", failures)];
    for (const job of surplus) await remove(cronJob, job, signal);
    const isSurplus = new Set(surplus);
    return owned.filter((job) => !isSurplus.has(job));
  }

  function surplusOf(owned: readonly OwnedJob[], type: string, limit: number | undefined): readonly OwnedJob[] {
    if (limit === undefined) return [];
    const startOf = ({ status, metadata }: OwnedJob) => `${status?.startTime ?? "9"} ${metadata.name}`;
    const finished = owned
      .filter((job) => finishOf(job)?.type === type && !isBeingDeleted(job))
      .toSorted((a, b) => (startOf(a) < startOf(b) ? -1 : 1));
    return finished.slice(0, Math.max(0, finished.length - limit));
  }

  async function remove(cronJob: CronJob, job: OwnedJob, signal: AbortSignal): Promise<void> {
    const terms = { propagationPolicy: "Background" } as const;
    await ignoringConflicts(() => deleteControlled(port, jobs, job, signal, terms));
    says(cronJob, "Normal", "SuccessfulDelete", `Deleted job ${job.metadata.name}`);
  }

  const observing = followOwners(ownedJobs, "CronJob", cronJobs, (key) => queue.add(key));
  const following = followKeys(cronJobs, scheduler, (key) => queue.add(key));
  return createQueueController(queue, [observing, following]);
}

/** As Go formats a time in its zone. */
function inZone(time: number, timeZone: string | undefined): string {
  if (timeZone === undefined) return formatTimestamp(time);
  const named = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" }).format(time);
  const zone = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" }).format(time);
  const offset = /GMT([+-]\d\d:\d\d)/.exec(zone)?.[1] ?? "Z";
  return `${named.replace(" ", "T")}${offset}`;
}

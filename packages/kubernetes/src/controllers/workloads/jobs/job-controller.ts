// Jobs: keep pods until enough of them have succeeded. No pod runs by itself: a client that writes the status of pods decides how they end.
// Source: k8s.io/kubernetes/pkg/controller/job/job_controller.go, ttlafterfinished/ttlafterfinished_controller.go

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { deleteControlled, ignoringConflicts } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import { createClaims } from "../claims.ts";
import { type Condition, conditionOf, holds } from "../conditions.ts";
import { createCreationBackoff } from "../creation-backoff.ts";
import { followOwners } from "../owned-objects.ts";
import { type PodState, podStateOf, podStatesOf } from "../pod-state.ts";
import { readStored } from "../read-stored.ts";
import { actingAs, eventsBy, retryLater, type WorkloadPort } from "../workload-port.ts";
import { statusMembers, writeStatus } from "../write-status.ts";
import { finishOf, isIndexed, isManaged, type Job, type JobCount, type JobStatus, TRACKING } from "./job.ts";
import { judgeFailures } from "./job-failures.ts";
import { isPerIndex, nextIndexes } from "./job-indexes.ts";
import { countJob, deadlineIn, endOf, isDone, jobCondition, replacementIn, wantedActive } from "./job-plan.ts";
import { createJobPods, type JobPods } from "./job-pods.ts";

const ALWAYS = ["ready", "terminating", "uncountedTerminatedPods"];

export function createJobController(base: WorkloadPort): Controller {
  const port = actingAs(base, "job-controller");
  const { clock, scheduler } = port.runtime;
  const jobs = port.resource("batch", "Job");
  const says = eventsBy(port.recorder("job-controller"));
  const backoff = createCreationBackoff(clock);
  const pause = createTurns(clock);
  const queue = new WorkQueue(port, { name: "job", process });
  const pods: JobPods = createJobPods(port, says);
  const claims = createClaims(port, {
    name: "job_claims",
    owners: jobs,
    dependents: port.pods,
    onClaimed: podStateOf,
    finalizer: TRACKING,
    onOwner: (key) => queue.add(key),
  });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    await port.pods.scanned();
    const busy = port.looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    const job = read(key);
    if (job === undefined || !isManaged(job)) return;
    const finish = finishOf(job);
    if (finish !== undefined) return expire(key, job, finish, signal);
    const claimed = await podStatesOf(await claims.claim(job, signal), pause);
    await judgeFailures(job, claimed, pause);
    if (!signal.aborted) await sync(key, job, claimed, signal);
  }

  const read = (key: string): Job | undefined => readStored(port, jobs, key);

  const started = (job: Job): Job =>
    job.status?.startTime !== undefined || job.spec.suspend === true
      ? job
      : { ...job, status: { ...job.status, startTime: formatTimestamp(clock.now()) } };

  async function sync(key: string, stored: Job, before: readonly PodState[], signal: AbortSignal): Promise<void> {
    const job = started(stored);
    const count = countJob(job, before);
    const end = endOf(job, count, clock.now());
    let isEnding = end !== undefined;
    if (end !== undefined) {
      const deleted = await pods.removeAll(job, count.active, signal);
      isEnding = deleted === count.active.length;
      if (!isEnding) retryLater(queue, key, port.writes.turnMs());
    } else if (!isBeingDeleted(job)) await scale(key, job, before, count, signal);
    if (signal.aborted) return;
    await record(key, stored, job, isEnding ? end : undefined, signal);
    const deadline = deadlineIn(job, clock.now());
    if (end === undefined && deadline !== undefined) retryLater(queue, key, deadline);
  }

  /** Creates what is missing and deletes what is too many. */
  async function scale(
    key: string,
    job: Job,
    before: readonly PodState[],
    count: JobCount,
    signal: AbortSignal,
  ): Promise<void> {
    const { uid = "", generation = 0 } = job.metadata;
    const wanted = wantedActive(job, count);
    const surplus = pods.surplus(job, count.active, wanted);
    if (surplus.length > 0) {
      const deleted = await pods.remove(job, surplus, signal);
      if (deleted < surplus.length) retryLater(queue, key, port.writes.turnMs());
      return;
    }
    const going = before.filter(({ isDeleted }) => isDeleted).length;
    const isWaiting = job.spec.podReplacementPolicy === "Failed" ? going : 0;
    const missing = wanted - count.active.length - isWaiting;
    if (missing <= 0) return;
    const next = isIndexed(job) ? nextIndexes(job, count, missing, clock.now()) : undefined;
    const delayOfPods = next !== undefined && isPerIndex(job) ? next.delayMs : replacementIn(job, before, clock.now());
    const delay = Math.max(backoff.delayMs(uid, generation), delayOfPods);
    if (delay > 0) return retryLater(queue, key, delay);
    const made =
      next === undefined ? await pods.create(job, missing, signal) : await pods.createIndexed(job, next, signal);
    if (made.error !== undefined) {
      backoff.failed(uid, generation);
      return retryLater(queue, key, backoff.delayMs(uid, generation));
    }
    backoff.succeeded(uid);
    if (made.count < (next?.indexes.length ?? missing)) retryLater(queue, key, port.writes.turnMs());
  }

  /** Writes which pods have ended before it lets go of them, and counts them when nothing can count them again. */
  async function record(
    key: string,
    stored: Job,
    job: Job,
    end: Condition | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    // Memory has the pods that have just been written.
    const present = await podsOf(job);
    const count = countJob(job, present);
    const tracked = pods.track(job, count, end);
    const active = count.active.length;
    const target = end ?? (isDone(job, count.succeeded, active) ? success(clock.now()) : undefined);
    const known = target === undefined ? suspension(job, active) : (job.status?.conditions ?? []);
    const isNew = target !== undefined && conditionOf(known, target.type) === undefined;
    const first = statusOf(job, present, {
      ...tracked.status,
      startTime: startOf(job),
      conditions: isNew ? [...known, target] : known,
    });
    const result = await writeStatus(port, jobs, stored, first, signal);
    if (result === "conflict" || signal.aborted) return;
    if (tracked.ended.length === 0 && tracked.status.isSettled && target === undefined) return;
    await pods.release(tracked.ended, signal);
    const next = read(key);
    if (next === undefined || next.metadata.uid !== job.metadata.uid || signal.aborted) return;
    const rest = await podsOf(job);
    const counted = pods.settle(next, rest);
    const isAlone = rest.every(({ isDeleted, isActive }) => !isDeleted && !isActive);
    const last =
      target !== undefined && counted.isSettled && isAlone && tracked.isAll
        ? finalCondition(target, clock.now())
        : undefined;
    const second = statusOf(next, rest, {
      ...counted,
      startTime: next.status?.startTime,
      conditions: [...(next.status?.conditions ?? []), ...(last === undefined ? [] : [last])],
      ...(last?.type === "Complete" ? { completionTime: last.lastTransitionTime } : {}),
    });
    const isWritten = (await writeStatus(port, jobs, next, second, signal)) === "written";
    if (isWritten && last !== undefined) sayFinished(next, last);
    if (!tracked.isAll) retryLater(queue, key, port.writes.turnMs());
  }

  async function podsOf(job: Job): Promise<readonly PodState[]> {
    const states = await podStatesOf(port.pods.of(job.metadata.uid ?? ""), pause);
    await judgeFailures(job, states, pause);
    port.looks.spend(states.length);
    return states;
  }

  /** A Job that goes on after a pause has all its time again. */
  function startOf({ spec, status }: Job): string | undefined {
    if (spec.suspend === true) return undefined;
    return holds(status?.conditions, "Suspended") ? formatTimestamp(clock.now()) : status?.startTime;
  }

  const success = (now: number): Condition =>
    jobCondition("SuccessCriteriaMet", "True", "CompletionsReached", "Reached expected number of succeeded pods", now);

  const finalCondition = ({ type, reason = "", message = "" }: Condition, now: number): Condition =>
    jobCondition(type === "FailureTarget" ? "Failed" : "Complete", "True", reason, message, now);

  function suspension(job: Job, active: number): readonly Condition[] {
    const known = job.status?.conditions ?? [];
    const { suspend = false } = job.spec;
    const current = conditionOf(known, "Suspended");
    const isSaid = suspend ? current?.status === "True" : current === undefined || current.status === "False";
    if (isSaid || (suspend && active > 0)) return known;
    const [status, reason, message] = suspend
      ? (["True", "JobSuspended", "Job suspended"] as const)
      : (["False", "JobResumed", "Job resumed"] as const);
    says(job, "Normal", suspend ? "Suspended" : "Resumed", message);
    const next = jobCondition("Suspended", status, reason, message, clock.now());
    return current === undefined ? [...known, next] : known.map((each) => (each === current ? next : each));
  }

  function statusOf(
    { status }: Job,
    present: readonly PodState[],
    changes: { readonly [name in keyof JobStatus]?: JobStatus[name] | undefined } & { readonly isSettled: boolean },
  ): JsonObject {
    const { isSettled: _, ...members } = changes;
    const active = present.filter(({ isActive }) => isActive);
    const all = {
      ...status,
      ...members,
      active: active.length,
      ready: active.filter(({ readyAt }) => readyAt !== undefined).length,
      terminating: present.filter(({ isDeleted, phase }) => isDeleted && phase !== "Succeeded" && phase !== "Failed")
        .length,
    };
    const always = all.failedIndexes === undefined ? ALWAYS : [...ALWAYS, "failedIndexes"];
    return statusMembers(all as { readonly [name: string]: JsonValue | undefined }, always);
  }

  function sayFinished(job: Job, { type, reason = "", message = "" }: Condition): void {
    if (type === "Complete") says(job, "Normal", "Completed", "Job completed");
    else says(job, "Warning", reason, message);
  }

  /** A finished Job lives as long as it says. */
  async function expire(key: string, job: Job, finish: Condition, signal: AbortSignal): Promise<void> {
    await pods.release(await podsOf(job), signal);
    const { ttlSecondsAfterFinished } = job.spec;
    if (ttlSecondsAfterFinished === undefined || isBeingDeleted(job)) return;
    const left = Date.parse(finish.lastTransitionTime ?? "") + ttlSecondsAfterFinished * 1_000 - clock.now();
    if (left > 0) return retryLater(queue, key, left);
    await ignoringConflicts(() => deleteControlled(port, jobs, job, signal, { propagationPolicy: "Background" }));
  }

  const observing = followOwners(port.pods, "Job", jobs, (key) => queue.add(key));
  const following = followKeys(jobs, scheduler, (key) => queue.add(key));
  return createQueueController(filledQueue(claims, queue), [observing, following]);
}

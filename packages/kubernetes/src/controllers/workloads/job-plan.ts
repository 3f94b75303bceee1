// The state of a Job, counted from its status and its pods.
// Source: k8s.io/kubernetes/pkg/controller/job/{job_controller,backoff_utils}.go

import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type Condition, conditionOf, holds } from "./conditions.ts";
import { countOf, type IndexRanges, parseRanges, withIndexes } from "./index-ranges.ts";
import { hasFailed, indexOf, isIndexed, isTracked, type Job } from "./job.ts";
import type { PodState } from "./pod-state.ts";

const FIRST_BACKOFF_MS = 10_000;
const MOST_BACKOFF_MS = 10 * 60_000;
const DEFAULT_LIMIT = 6;

export type JobCount = {
  readonly active: readonly PodState[];
  /** In its status, or in pods that are not counted there yet. */
  readonly succeeded: number;
  readonly failed: number;
  /** Of an indexed Job, with those of pods that are not counted yet. */
  readonly completed: IndexRanges;
};

/** Pods that have ended and are neither in the counters of the status nor on their way there. */
export function newlyEnded(job: Job, pods: readonly PodState[]) {
  const { succeeded = [], failed = [] } = job.status?.uncountedTerminatedPods ?? {};
  const waiting = new Set([...succeeded, ...failed]);
  const counts = (pod: PodState): boolean =>
    isTracked(pod) && !waiting.has(pod.uid) && (!isIndexed(job) || indexOf(pod, job) !== undefined);
  return {
    succeeded: pods.filter((pod) => pod.phase === "Succeeded" && counts(pod)),
    failed: pods.filter((pod) => hasFailed(pod, job) && counts(pod)),
  };
}

export function countJob(job: Job, pods: readonly PodState[]): JobCount {
  const { succeeded = 0, failed = 0, completedIndexes = "", uncountedTerminatedPods = {} } = job.status ?? {};
  const ended = newlyEnded(job, pods);
  const indexes = ended.succeeded.flatMap((pod) => indexOf(pod, job) ?? []);
  const completed = isIndexed(job)
    ? withIndexes(parseRanges(completedIndexes, job.spec.completions ?? 0), indexes)
    : [];
  return {
    active: pods.filter(({ isActive }) => isActive),
    succeeded: isIndexed(job)
      ? countOf(completed)
      : succeeded + (uncountedTerminatedPods.succeeded?.length ?? 0) + ended.succeeded.length,
    failed: failed + (uncountedTerminatedPods.failed?.length ?? 0) + ended.failed.length,
    completed,
  };
}

export const jobCondition = (
  type: string,
  status: string,
  reason: string,
  message: string,
  now: number,
): Condition => ({
  type,
  status,
  lastProbeTime: formatTimestamp(now),
  lastTransitionTime: formatTimestamp(now),
  reason,
  message,
});

/** Milliseconds until it has been active for too long; undefined where it may be active for ever. */
export function deadlineIn({ spec, status }: Job, now: number): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || spec.suspend === true || status?.startTime === undefined)
    return undefined;
  return Date.parse(status.startTime) + Number(spec.activeDeadlineSeconds) * 1_000 - now;
}

/** The end that is near: a condition of the type `SuccessCriteriaMet` or `FailureTarget`. */
export function endOf(job: Job, count: JobCount, now: number): Condition | undefined {
  const { spec, status } = job;
  const known = ["SuccessCriteriaMet", "FailureTarget"].find((type) => holds(status?.conditions, type));
  if (known !== undefined) return conditionOf(status?.conditions, known);
  const limit = spec.backoffLimit ?? DEFAULT_LIMIT;
  if (count.failed > limit || hasRestarted(job, count.active, limit)) {
    const message = "Job has reached the specified backoff limit";
    return jobCondition("FailureTarget", "True", "BackoffLimitExceeded", message, now);
  }
  if ((deadlineIn(job, now) ?? 1) <= 0) {
    const message = "Job was active longer than specified deadline";
    return jobCondition("FailureTarget", "True", "DeadlineExceeded", message, now);
  }
  return undefined;
}

/** Containers that are started again in their pod count as well. */
function hasRestarted({ spec }: Job, active: readonly PodState[], limit: number): boolean {
  if (spec.template.spec?.restartPolicy !== "OnFailure") return false;
  const restarts = active.reduce((sum, pod) => sum + pod.restarts, 0);
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** How many pods should be active. */
export function wantedActive({ spec }: Job, { active, succeeded }: JobCount): number {
  const parallelism = spec.parallelism ?? 1;
  if (spec.suspend === true) return 0;
  if (spec.completions === undefined) return succeeded > 0 ? Math.min(active.length, parallelism) : parallelism;
  return Math.max(0, Math.min(spec.completions - succeeded, parallelism));
}

export const isDone = ({ spec }: Job, succeeded: number, active: number): boolean =>
  active === 0 && (spec.completions === undefined ? succeeded > 0 : succeeded >= spec.completions);

/** Milliseconds until a failed pod may be replaced: 10 s, and twice as many after each further failure without a success. */
export function replacementIn(job: Job, pods: readonly PodState[], now: number): number {
  // A Job may have very many: more than a call takes as arguments.
  const latest = (each: readonly PodState[]): number => each.reduce((last, pod) => Math.max(last, endedAt(pod)), 0);
  const lastSuccess = latest(pods.filter(({ phase }) => phase === "Succeeded"));
  const failures = pods.filter((pod) => hasFailed(pod, job) && endedAt(pod) >= lastSuccess);
  if (failures.length === 0) return 0;
  const last = latest(failures);
  const delay = Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(failures.length - 1, 10), MOST_BACKOFF_MS);
  return Math.max(0, last + delay - now);
}

const endedAt = ({ finishedAt, createdAt }: PodState): number => finishedAt ?? createdAt;

/** Of an indexed Job, pods without an index that counts and those whose index another active pod has; of others, none. */
export function misplacedPods(job: Job, active: readonly PodState[]): readonly PodState[] {
  if (!isIndexed(job)) return [];
  const seen = new Set<number>();
  return active
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1))
    .filter((pod) => {
      const index = indexOf(pod, job);
      const isMisplaced = index === undefined || seen.has(index);
      if (index !== undefined) seen.add(index);
      return isMisplaced;
    });
}

// The state of a Job, counted from its status and its pods.
// Source: k8s.io/kubernetes/pkg/controller/job/{job_controller,backoff_utils}.go

import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type Condition, conditionOf, holds } from "../conditions.ts";
import type { PodState } from "../pod-state.ts";
import { countCommon, countOf, type IndexRanges, parseRanges, withIndexes } from "./index-ranges.ts";
import { hasFailed, indexOf, isIndexed, isTracked, type Job, type JobCount, type SuccessRule } from "./job.ts";
import { delayAfter, endedAt } from "./job-backoff.ts";
import { failureOf, isIgnored } from "./job-failures.ts";
import { failedIndexesOf } from "./job-indexes.ts";

const DEFAULT_LIMIT = 6;

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
    pods,
    active: pods.filter(({ isActive }) => isActive),
    succeeded: isIndexed(job)
      ? countOf(completed)
      : succeeded + (uncountedTerminatedPods.succeeded?.length ?? 0) + ended.succeeded.length,
    failed:
      failed + (uncountedTerminatedPods.failed?.length ?? 0) + ended.failed.filter((pod) => !isIgnored(pod)).length,
    completed,
    failedIndexes: failedIndexesOf(job, pods),
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
  const broken = count.pods.find((pod) => hasFailed(pod, job) && failureOf(pod).message !== undefined);
  if (broken !== undefined)
    return jobCondition("FailureTarget", "True", "PodFailurePolicy", failureOf(broken).message ?? "", now);
  const limit = spec.backoffLimit ?? DEFAULT_LIMIT;
  if (count.failed > limit || hasRestarted(job, count.active, limit)) {
    const message = "Job has reached the specified backoff limit";
    return jobCondition("FailureTarget", "True", "BackoffLimitExceeded", message, now);
  }
  if ((deadlineIn(job, now) ?? 1) <= 0) {
    const message = "Job was active longer than specified deadline";
    return jobCondition("FailureTarget", "True", "DeadlineExceeded", message, now);
  }
  return isIndexed(job) ? endByIndexes(job, count, now) : undefined;
}

function endByIndexes({ spec }: Job, { completed, failedIndexes }: JobCount, now: number): Condition | undefined {
  const { completions = 0, maxFailedIndexes, successPolicy } = spec;
  const failed = countOf(failedIndexes);
  if (maxFailedIndexes !== undefined && failed > maxFailedIndexes) {
    const message = "Job has exceeded the specified maximal number of failed indexes";
    return jobCondition("FailureTarget", "True", "MaxFailedIndexesExceeded", message, now);
  }
  if (failed > 0 && failed + countOf(completed) >= completions)
    return jobCondition("FailureTarget", "True", "FailedIndexes", "Job has failed indexes", now);
  const met = (successPolicy?.rules ?? []).findIndex((rule) => isMet(rule, completed, completions));
  if (met < 0) return undefined;
  return jobCondition("SuccessCriteriaMet", "True", "SuccessPolicy", `Matched rules at index ${met}`, now);
}

/** Source: k8s.io/kubernetes/pkg/controller/job/success_policy.go */
function isMet(
  { succeededIndexes, succeededCount }: SuccessRule,
  completed: IndexRanges,
  completions: number,
): boolean {
  if (completed.length === 0) return false;
  if (succeededIndexes === undefined) return succeededCount !== undefined && countOf(completed) >= succeededCount;
  const wanted = parseRanges(succeededIndexes, completions);
  if (wanted.length === 0) return false;
  const common = countCommon(wanted, completed);
  return common === countOf(wanted) || (succeededCount !== undefined && common >= succeededCount);
}

/** Containers that are started again in their pod count as well. */
function hasRestarted({ spec }: Job, active: readonly PodState[], limit: number): boolean {
  if (spec.template.spec?.restartPolicy !== "OnFailure") return false;
  const restarts = active.reduce((sum, pod) => sum + pod.restarts, 0);
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** How many pods should be active. */
export function wantedActive({ spec }: Job, { active, succeeded, failedIndexes }: JobCount): number {
  const parallelism = spec.parallelism ?? 1;
  if (spec.suspend === true) return 0;
  if (spec.completions === undefined) return succeeded > 0 ? Math.min(active.length, parallelism) : parallelism;
  return Math.max(0, Math.min(spec.completions - succeeded - countOf(failedIndexes), parallelism));
}

export const isDone = ({ spec }: Job, succeeded: number, active: number): boolean =>
  active === 0 && (spec.completions === undefined ? succeeded > 0 : succeeded >= spec.completions);

/** Milliseconds until a failed pod may be replaced: 10 s, and twice as many after each further failure without a success. */
export function replacementIn(job: Job, pods: readonly PodState[], now: number): number {
  // A Job may have very many: more than a call takes as arguments.
  const latest = (each: readonly PodState[]): number => each.reduce((last, pod) => Math.max(last, endedAt(pod)), 0);
  const lastSuccess = latest(pods.filter(({ phase }) => phase === "Succeeded"));
  const failures = pods.filter((pod) => hasFailed(pod, job) && endedAt(pod) >= lastSuccess);
  return delayAfter(failures.length, latest(failures), now);
}

/** For an indexed Job, pods without an index that counts, and pods whose index another active pod has; for others, none. */
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

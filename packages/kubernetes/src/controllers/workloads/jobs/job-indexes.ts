// The indexes of a Job that next get a pod, and, with `backoffLimitPerIndex`, how often each has failed. A failed pod carries this count: it is held
// until the pod that replaces it has the count.
// Source: k8s.io/kubernetes/pkg/controller/job/indexed_job_utils.go

import type { PodState } from "../pod-state.ts";
import { freeIndexes, hasIndex, type IndexRanges, joinRanges, parseRanges, withIndexes } from "./index-ranges.ts";
import { hasFailed, indexOf, isIndexed, isTracked, type Job, type JobCount } from "./job.ts";
import { delayAfter, endedAt } from "./job-backoff.ts";
import { failureOf, isIgnored } from "./job-failures.ts";

const FAILURES = "batch.kubernetes.io/job-index-failure-count";
const IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count";
/** Indexes that get their pods in one step. */
const MOST_INDEXES = 500;

export const isPerIndex = (job: Job): boolean => isIndexed(job) && job.spec.backoffLimitPerIndex !== undefined;

const countAt = ({ annotations }: PodState, name: string): number =>
  Math.max(0, Number.parseInt(annotations[name] ?? "0", 10) || 0);
const failuresOf = (pod: PodState): number => countAt(pod, FAILURES) + countAt(pod, IGNORED);

/** The failed indexes in the status, and those of pods that are not counted yet. */
export function failedIndexesOf(job: Job, pods: readonly PodState[]): IndexRanges {
  if (!isPerIndex(job)) return [];
  const { completions = 0, backoffLimitPerIndex = 0 } = job.spec;
  const isLast = (pod: PodState): boolean =>
    failureOf(pod).action === "FailIndex" || (!isIgnored(pod) && countAt(pod, FAILURES) >= backoffLimitPerIndex);
  const failed = pods.filter((pod) => isTracked(pod) && hasFailed(pod, job) && isLast(pod));
  return withIndexes(
    parseRanges(job.status?.failedIndexes ?? "", completions),
    failed.flatMap((pod) => indexOf(pod, job) ?? []),
  );
}

/** By index, the last pod that failed, where another is to come. */
export function failuresToReplace(
  job: Job,
  { pods, active, completed, failedIndexes }: JobCount,
): ReadonlyMap<number, PodState> {
  const last = new Map<number, PodState>();
  if (!isPerIndex(job)) return last;
  const isActive = new Set(active.flatMap((pod) => indexOf(pod, job) ?? []));
  for (const pod of pods) {
    const index = indexOf(pod, job);
    if (index === undefined || !isTracked(pod) || !hasFailed(pod, job) || isActive.has(index)) continue;
    if (hasIndex(completed, index) || hasIndex(failedIndexes, index)) continue;
    const other = last.get(index);
    const isLater = other === undefined || (failuresOf(other) <= failuresOf(pod) && endedAt(other) <= endedAt(pod));
    if (isLater) last.set(index, pod);
  }
  return last;
}

/** The annotations of the pod that replaces a failed one; of the first pod of its index, where there is none. */
export function failureCounts(job: Job, failed: PodState | undefined): { readonly [name: string]: string } {
  if (!isPerIndex(job)) return {};
  if (failed === undefined) return { [FAILURES]: "0" };
  const ignored = countAt(failed, IGNORED) + Number(isIgnored(failed));
  return {
    [FAILURES]: String(countAt(failed, FAILURES) + Number(!isIgnored(failed))),
    ...(ignored === 0 ? {} : { [IGNORED]: String(ignored) }),
  };
}

export type NextIndexes = {
  readonly indexes: readonly number[];
  /** Until the first index may have a pod again, where none may now; else 0. */
  readonly delayMs: number;
  readonly replaced: ReadonlyMap<number, PodState>;
};

/** Up to `wanted` indexes that have no pod. */
export function nextIndexes(job: Job, count: JobCount, wanted: number, now: number): NextIndexes {
  const replaced = failuresToReplace(job, count);
  const going = job.spec.podReplacementPolicy === "Failed" ? count.pods.filter(({ isDeleted }) => isDeleted) : [];
  const taken = new Set([...count.active, ...going].flatMap((pod) => indexOf(pod, job) ?? []));
  const done = joinRanges(count.completed, count.failedIndexes);
  const free = freeIndexes(done, taken, job.spec.completions ?? 0, Math.min(wanted, MOST_INDEXES));
  const delayOf = (index: number): number => {
    const pod = replaced.get(index);
    return pod === undefined ? 0 : delayAfter(failuresOf(pod) + 1, endedAt(pod), now);
  };
  const indexes = free.filter((index) => delayOf(index) === 0);
  const delayMs = indexes.length > 0 || free.length === 0 ? 0 : Math.min(...free.map(delayOf));
  return { indexes, delayMs, replaced };
}

// The pods of Jobs: creation, removal, and the finalizer that holds each until it has been counted.
// Source: k8s.io/kubernetes/pkg/controller/job/{job_controller,tracking_utils}.go

import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ControlledResource, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import { releaseFinalizer } from "../../release-finalizer.ts";
import type { Condition } from "../conditions.ts";
import { createPods, deletePods, type Made, MOST_AT_ONCE, podFromTemplate, withDerivedName } from "../pod-control.ts";
import { byDeletion, type PodState } from "../pod-state.ts";
import type { Says, WorkloadPort } from "../workload-port.ts";
import { countOf, parseRanges, rangesText, withIndexes } from "./index-ranges.ts";
import {
  hasFailed,
  indexedTemplate,
  indexOf,
  isIndexed,
  isTracked,
  type Job,
  type JobCount,
  type JobStatus,
  TRACKING,
} from "./job.ts";
import { isIgnored } from "./job-failures.ts";
import { failedIndexesOf, failureCounts, failuresToReplace, isPerIndex, type NextIndexes } from "./job-indexes.ts";
import { misplacedPods, newlyEnded } from "./job-plan.ts";

/** Pods that are counted in one step: their uids are in the status meanwhile. */
const MOST_UNCOUNTED = 500;

/** Counters, and pods that are on their way to them. */
type Counters = Pick<
  JobStatus,
  "succeeded" | "failed" | "completedIndexes" | "failedIndexes" | "uncountedTerminatedPods"
> & {
  /** No pod is on its way. */
  readonly isSettled: boolean;
};

export type JobPods = {
  create(job: Job, wanted: number, signal: AbortSignal): Promise<Made>;
  /** Creates the pods of an indexed Job. */
  createIndexed(job: Job, next: NextIndexes, signal: AbortSignal): Promise<Made>;
  /** Active pods that should not be. */
  surplus(job: Job, active: readonly PodState[], wanted: number): readonly PodState[];
  /** Deletes pods that do not count as failed. Returns how many. */
  remove(job: Job, pods: readonly PodState[], signal: AbortSignal): Promise<number>;
  /** Deletes the pods of a Job that has ended; they are counted. Returns how many. */
  removeAll(job: Job, pods: readonly PodState[], signal: AbortSignal): Promise<number>;
  /**
   * Pods that have ended, and the counters with these on their way. `isAll` is false where there are more. Of a Job that ends, all pods have; where it
   * has failed, so have they. Failures that its policy ignores are not counted.
   */
  track(
    job: Job,
    count: JobCount,
    end: Condition | undefined,
  ): { readonly ended: readonly PodState[]; readonly status: Counters; readonly isAll: boolean };
  /** Lets go of pods. */
  release(pods: readonly PodState[], signal: AbortSignal): Promise<void>;
  /** Counts pods that are on their way and that nothing holds any more. */
  settle(job: Job, pods: readonly PodState[]): Counters;
};

export function createJobPods(port: WorkloadPort, says: Says): JobPods {
  const pause = createTurns(port.runtime.clock);

  async function release(pods: readonly PodState[], signal: AbortSignal): Promise<void> {
    for (const pod of pods) {
      if (!isTracked(pod)) continue;
      await pause();
      if (signal.aborted) return;
      await releasePod(port, port.pods.resource, pod.object, signal);
    }
  }

  function settle(job: Job, pods: readonly PodState[]): Counters {
    const { succeeded = 0, failed = 0, completedIndexes, uncountedTerminatedPods = {} } = job.status ?? {};
    const held = new Set(pods.filter(isTracked).map(({ uid }) => uid));
    const [successes, failures] = [uncountedTerminatedPods.succeeded ?? [], uncountedTerminatedPods.failed ?? []];
    const waiting = {
      succeeded: successes.filter((uid) => held.has(uid)),
      failed: failures.filter((uid) => held.has(uid)),
    };
    return {
      succeeded: isIndexed(job) ? succeeded : succeeded + successes.length - waiting.succeeded.length,
      failed: failed + failures.length - waiting.failed.length,
      ...(completedIndexes === undefined ? {} : { completedIndexes }),
      uncountedTerminatedPods: uncounted(waiting.succeeded, waiting.failed),
      isSettled: waiting.succeeded.length + waiting.failed.length === 0,
    };
  }

  return {
    create(job, wanted, signal) {
      const pod = withTracking(podFromTemplate(job, job.spec.template));
      return createPods(port, job, wanted, (...at) => withDerivedName(job, pod, ...at), says, signal);
    },
    createIndexed(job, { indexes, replaced }, signal) {
      const name = job.metadata.name ?? "";
      const podAt = (at: number, attempt: number): KubeObject => {
        const index = indexes[at] ?? 0;
        const pod = withTracking(podFromTemplate(job, indexedTemplate(job.spec.template, name, index)));
        const annotations = { ...pod.metadata.annotations, ...failureCounts(job, replaced.get(index)) };
        const metadata = { ...pod.metadata, annotations, generateName: `${name}-${index}-` };
        return withDerivedName(job, { ...pod, metadata }, index, attempt);
      };
      return createPods(port, job, indexes.length, podAt, says, signal);
    },
    surplus(job, active, wanted) {
      const misplaced = misplacedPods(job, active);
      const isMisplaced = new Set(misplaced);
      const rest = active.filter((pod) => !isMisplaced.has(pod)).toSorted(byDeletion);
      return [...misplaced, ...rest.slice(0, Math.max(0, rest.length - wanted))];
    },
    async remove(job, pods, signal) {
      const most = pods.slice(0, MOST_AT_ONCE);
      await release(most, signal);
      return await deletePods(port, job, most, says, signal);
    },
    removeAll: (job, pods, signal) => deletePods(port, job, pods, says, signal),
    track(job, count, end) {
      const { pods } = count;
      const { failed: failures = [], succeeded: successes = [] } = job.status?.uncountedTerminatedPods ?? {};
      const counters = settle(job, pods);
      const known = new Set([...failures, ...successes]);
      const isKept = end === undefined && !isBeingDeleted(job) ? new Set(failuresToReplace(job, count).values()) : NONE;
      const fresh = newlyEnded(job, pods);
      // Pods that go because the Job has succeeded did not fail.
      const failedNow = fresh.failed.filter(
        (pod) => !isKept.has(pod) && (end?.type !== "SuccessCriteriaMet" || pod.phase === "Failed"),
      );
      const isFresh = new Set([...fresh.succeeded, ...failedNow]);
      const others =
        end === undefined ? [] : pods.filter((pod) => isTracked(pod) && !isFresh.has(pod) && !known.has(pod.uid));
      const lost = end?.type === "FailureTarget" ? others.filter((pod) => canFail(pod, job)) : [];
      const failed = [...failedNow, ...lost];
      const isToCount = new Set(failed);
      // Indexes of pods that go because the Job has ended are not given up.
      const givenUp =
        end === undefined
          ? count.failedIndexes
          : failedIndexesOf(
              job,
              pods.filter(({ phase }) => phase === "Failed"),
            );
      const ends = [...fresh.succeeded, ...failed].slice(0, MOST_UNCOUNTED);
      const uncountedOthers = others.filter((pod) => !isToCount.has(pod));
      const waiting = pods.filter((pod) => isTracked(pod) && known.has(pod.uid));
      const newSuccesses = fresh.succeeded.filter((pod) => ends.includes(pod));
      const newFailures = failed.filter((pod) => ends.includes(pod) && !isIgnored(pod));
      const indexes = newSuccesses.flatMap((pod) => indexOf(pod, job) ?? []);
      const ranges = isIndexed(job)
        ? withIndexes(parseRanges(job.status?.completedIndexes ?? "", job.spec.completions ?? 0), indexes)
        : [];
      const uids = (each: readonly PodState[]) => each.map(({ uid }) => uid);
      const { uncountedTerminatedPods: before = {} } = counters;
      return {
        // Pods without an index that counts are let go as well.
        ended: [...new Set([...waiting, ...ends, ...uncountedOthers, ...withoutIndex(pods, job)])],
        isAll: ends.length === fresh.succeeded.length + failed.length,
        status: {
          ...counters,
          ...(isIndexed(job) ? { succeeded: countOf(ranges), completedIndexes: rangesText(ranges) } : {}),
          ...(isPerIndex(job) ? { failedIndexes: rangesText(givenUp) } : {}),
          uncountedTerminatedPods: uncounted(
            [...(before.succeeded ?? []), ...(isIndexed(job) ? [] : uids(newSuccesses))],
            [...(before.failed ?? []), ...uids(newFailures)],
          ),
          isSettled: counters.isSettled && ends.length === 0,
        },
      };
    },
    release,
    settle,
  };
}

const NONE: ReadonlySet<PodState> = new Set();

/** True where it counts as failed because its Job fails. */
const canFail = (pod: PodState, job: Job): boolean =>
  pod.phase !== "Succeeded" && (!isIndexed(job) || indexOf(pod, job) !== undefined);

/** The pod with the finalizer by which its Job holds it. */
const withTracking = (pod: KubeObject): KubeObject => ({
  ...pod,
  metadata: { ...pod.metadata, finalizers: [...(pod.metadata.finalizers ?? []), TRACKING] },
});

const withoutIndex = (pods: readonly PodState[], job: Job): readonly PodState[] =>
  isIndexed(job) ? pods.filter((pod) => isEnded(pod, job) && indexOf(pod, job) === undefined) : [];

const isEnded = (pod: PodState, job: Job): boolean => pod.phase === "Succeeded" || hasFailed(pod, job);

const uncounted = (succeeded: readonly string[], failed: readonly string[]) => ({
  ...(succeeded.length === 0 ? {} : { succeeded }),
  ...(failed.length === 0 ? {} : { failed }),
});

/** Removes the finalizer by which a Job holds a pod. */
export const releasePod = (
  port: ControllerPort,
  pods: ControlledResource,
  object: CachedObject,
  signal: AbortSignal,
): Promise<void> => releaseFinalizer(port, pods, object, TRACKING, signal);

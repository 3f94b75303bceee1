// The meaning of a failed pod to its Job, by `spec.podFailurePolicy`.
// Source: k8s.io/kubernetes/pkg/controller/job/pod_failure_policy.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { PodState } from "../pod-state.ts";
import type { FailureRule, Job } from "./job.ts";

export type Failure = {
  /** Absent: no rule matches, and the failure counts. */
  readonly action?: string;
  /** The Job fails with it. */
  readonly message?: string;
};

const COUNTED: Failure = {};

/** A policy never changes, and a pod that changes its owner is another version of it. */
const judged = new WeakMap<CachedObject, Failure>();

/** The failure of a pod that `judgeFailures` has seen; others count. */
export const failureOf = ({ object }: PodState): Failure => judged.get(object) ?? COUNTED;

export const isIgnored = (pod: PodState): boolean => failureOf(pod).action === "Ignore";

/** Applies the rules to pods that are new, in turns: pods and rules may be large. */
export async function judgeFailures(
  job: Job,
  pods: readonly PodState[],
  pause: () => Promise<void> | undefined,
): Promise<void> {
  const rules = job.spec.podFailurePolicy?.rules ?? [];
  if (rules.length === 0) return;
  const matchers = rules.map(matcherOf);
  for (const pod of pods) {
    if (judged.has(pod.object)) continue;
    judged.set(pod.object, judge(job, pod, matchers));
    await pause();
  }
}

const readEnd = createMemberReader({
  status: { conditions: true, containerStatuses: true, initContainerStatuses: true },
});

type ContainerStatus = {
  readonly name?: string;
  readonly state?: { readonly terminated?: { readonly exitCode?: number } };
};
type End = {
  readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
};

/** The words for what matches. */
type Matcher = { readonly action: string; match(end: End, pod: string): string | undefined };

function matcherOf({ action = "", onExitCodes, onPodConditions }: FailureRule, index: number): Matcher {
  const rule = `matching ${action} rule at index ${index}`;
  if (onExitCodes === undefined) {
    const wanted = new Set(onPodConditions?.map(({ type, status }) => `${type} ${status}`));
    const match: Matcher["match"] = ({ conditions = [] }, pod) => {
      const found = conditions.find(({ type, status }) => wanted.has(`${type} ${status}`));
      return found === undefined ? undefined : `Pod ${pod} has condition ${found.type} ${rule}`;
    };
    return { action, match };
  }
  const { containerName, operator, values } = onExitCodes;
  const codes = new Set(values ?? []);
  const isMatch = ({ name, state }: ContainerStatus): boolean => {
    const code = state?.terminated?.exitCode ?? 0;
    return code !== 0 && (containerName ?? name) === name && codes.has(code) === (operator === "In");
  };
  const match: Matcher["match"] = ({ containerStatuses = [], initContainerStatuses = [] }, pod) => {
    const found = containerStatuses.find(isMatch) ?? initContainerStatuses.find(isMatch);
    if (found === undefined) return undefined;
    return `Container ${found.name} for pod ${pod} failed with exit code ${found.state?.terminated?.exitCode} ${rule}`;
  };
  return { action, match };
}

function judge({ metadata }: Job, { object, name }: PodState, matchers: readonly Matcher[]): Failure {
  // Stored objects have passed the schema of their kind.
  const { status: end = {} } = object.read(readEnd) as JsonObject & { readonly status?: End };
  for (const { action, match } of matchers) {
    const message = match(end, `${metadata.namespace}/${name}`);
    if (message !== undefined) return action === "FailJob" ? { action, message } : { action };
  }
  return COUNTED;
}

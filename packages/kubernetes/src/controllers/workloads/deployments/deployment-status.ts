// The status of a Deployment: counts, availability and progress.
// Source: k8s.io/kubernetes/pkg/controller/deployment/{sync,progress}.go

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type Condition, conditionOf, withCondition, withoutCondition } from "../conditions.ts";
import { statusMembers } from "../write-status.ts";
import {
  type Deployment,
  type DeploymentStatus,
  FAILURE,
  hasDeadline,
  isComplete,
  maxUnavailable,
  replicasOf,
  type SizedSet,
  specReplicas,
  sumOf,
} from "./deployment.ts";

export const PROGRESSING = "Progressing";
const AVAILABLE = "Available";
export const TIMED_OUT = "ProgressDeadlineExceeded";
const COMPLETE = "NewReplicaSetAvailable";

export type Counted = {
  readonly deployment: Deployment;
  readonly all: readonly SizedSet[];
  readonly newSet: SizedSet | undefined;
  /** The conditions of the Deployment, with those that this step has set. */
  readonly conditions: readonly Condition[];
  /** Milliseconds of the day's clock. */
  readonly now: number;
};

export const condition = (type: string, status: string, reason: string, message: string, now: number): Condition => ({
  type,
  status,
  lastUpdateTime: formatTimestamp(now),
  lastTransitionTime: formatTimestamp(now),
  reason,
  message,
});

/** Counts and availability; progress is left as it is. */
export function countedStatus({ deployment, all, newSet, conditions, now }: Counted): DeploymentStatus & JsonObject {
  const count = (name: "replicas" | "readyReplicas" | "availableReplicas" | "terminatingReplicas") =>
    sumOf(all, ({ status }) => status?.[name] ?? 0);
  const available = count("availableReplicas");
  const collisionCount = deployment.status?.collisionCount;
  const isAvailable = available >= replicasOf(deployment) - maxUnavailable(deployment);
  const availability = isAvailable
    ? condition(AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now)
    : condition(
        AVAILABLE,
        "False",
        "MinimumReplicasUnavailable",
        "Deployment does not have minimum availability.",
        now,
      );
  return statusMembers(
    {
      observedGeneration: deployment.metadata.generation ?? 0,
      replicas: count("replicas"),
      updatedReplicas: newSet?.status?.replicas ?? 0,
      readyReplicas: count("readyReplicas"),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, specReplicas(all) - available),
      terminatingReplicas: count("terminatingReplicas"),
      collisionCount,
      conditions: withCondition(conditions, availability) as JsonValue,
    },
    ["terminatingReplicas"],
  ) as DeploymentStatus & JsonObject;
}

/** With progress and failures. */
export function rolloutStatus(counted: Counted): DeploymentStatus & JsonObject {
  const { deployment, all, newSet, now } = counted;
  const status = countedStatus(counted);
  const known = status.conditions ?? [];
  const progressed = hasDeadline(deployment)
    ? withProgress(counted, status, known)
    : withoutCondition(known, PROGRESSING);
  const failures = [...(newSet === undefined ? [] : [newSet]), ...all].flatMap(
    ({ status: each }) => conditionOf(each?.conditions, FAILURE) ?? [],
  );
  const [failure] = failures;
  const conditions =
    failure === undefined
      ? withoutCondition(progressed, FAILURE)
      : withCondition(progressed, { ...failure, lastUpdateTime: failure.lastTransitionTime ?? formatTimestamp(now) });
  return { ...status, conditions } as DeploymentStatus & JsonObject;
}

function withProgress(
  { deployment, newSet, now }: Counted,
  status: DeploymentStatus,
  conditions: readonly Condition[],
): readonly Condition[] {
  const { status: old = {} } = deployment;
  const current = conditionOf(conditions, PROGRESSING);
  const isOver = (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && current?.reason === COMPLETE;
  if (isOver) return conditions;
  const subject =
    newSet === undefined ? `Deployment "${deployment.metadata.name}"` : `ReplicaSet "${newSet.metadata.name}"`;
  if (isComplete(deployment, status)) {
    const message = `${subject} has successfully progressed.`;
    return withCondition(conditions, condition(PROGRESSING, "True", COMPLETE, message, now));
  }
  if (hasProgressed(status, old)) {
    const next = condition(PROGRESSING, "True", "ReplicaSetUpdated", `${subject} is progressing.`, now);
    // Progress is new each time, also where the last of it has the same reason.
    const since = current?.status === "True" ? current.lastTransitionTime : undefined;
    return [
      ...withoutCondition(conditions, PROGRESSING),
      { ...next, ...(since === undefined ? {} : { lastTransitionTime: since }) },
    ];
  }
  if (isTimedOut(deployment, current, now)) {
    const message = `${subject} has timed out progressing.`;
    return withCondition(conditions, condition(PROGRESSING, "False", TIMED_OUT, message, now));
  }
  return conditions;
}

function hasProgressed(next: DeploymentStatus, old: DeploymentStatus): boolean {
  const [updated, before] = [next.updatedReplicas ?? 0, old.updatedReplicas ?? 0];
  return (
    updated > before ||
    (next.replicas ?? 0) - updated < (old.replicas ?? 0) - before ||
    (next.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (next.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  );
}

function isTimedOut(deployment: Deployment, current: Condition | undefined, now: number): boolean {
  if (current === undefined || current.reason === COMPLETE) return false;
  return current.reason === TIMED_OUT || (deadlineOf(deployment, current) ?? now) < now;
}

const deadlineOf = ({ spec }: Deployment, { lastUpdateTime }: Condition): number | undefined =>
  lastUpdateTime === undefined ? undefined : Date.parse(lastUpdateTime) + (spec.progressDeadlineSeconds ?? 600) * 1_000;

/** Milliseconds until a rollout without progress has failed; undefined where that cannot happen. */
export function timeoutIn(deployment: Deployment, status: DeploymentStatus, now: number): number | undefined {
  const current = conditionOf(status.conditions, PROGRESSING);
  if (!hasDeadline(deployment) || current === undefined) return undefined;
  if (isComplete(deployment, status) || current.reason === TIMED_OUT || current.reason === COMPLETE) return undefined;
  const deadline = deadlineOf(deployment, current);
  // A second more: times are stored in whole seconds.
  return deadline === undefined ? undefined : Math.max(0, deadline - now) + 1_000;
}

// Requirements of the status of workloads, which other controllers than ours may write as well.
// Source: k8s.io/kubernetes/pkg/apis/{apps,core,policy}/validation/validation.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import { negativeFaults } from "../../field-checks.ts";

type Rules = {
  /** Counts that are never negative, in the order of their faults. */
  readonly counts: readonly string[];
  /** Those that are never greater than `replicas`. */
  readonly amongReplicas?: readonly string[];
  /** The name that faults have for `readyReplicas`, where `availableReplicas` is never greater. */
  readonly ready?: "readyReplicas" | "status.readyReplicas";
};

/** A member that was once counted stays, or grows. */
const COLLISIONS = "collisionCount";

const numberAt = (object: KubeObject, name: string): number | bigint | undefined => {
  const status = object["status"] as { readonly [name: string]: JsonValue | undefined } | undefined;
  const value = status?.[name];
  return typeof value === "number" || typeof value === "bigint" ? value : undefined;
};

/** Faults of a status that replaces another. */
const statusFaults =
  ({ counts, amongReplicas = [], ready }: Rules) =>
  (object: KubeObject, old: KubeObject): readonly FieldError[] => {
    const at = (name: string): number | bigint => numberAt(object, name) ?? 0;
    const isOver = (name: string, most: string, named: string): readonly FieldError[] =>
      at(name) > at(most) ? [invalidError(`status.${name}`, at(name), `cannot be greater than ${named}`)] : [];
    const [collisions, before] = [numberAt(object, COLLISIONS), numberAt(old, COLLISIONS)];
    const isLess = before !== undefined && (collisions === undefined || collisions < before);
    return [
      ...counts.flatMap((name) => negativeFaults(`status.${name}`, numberAt(object, name))),
      ...amongReplicas.flatMap((name) => isOver(name, "replicas", "status.replicas")),
      ...(ready === undefined ? [] : isOver("availableReplicas", "readyReplicas", ready)),
      ...(counts.includes(COLLISIONS) && isLess
        ? [invalidError(`status.${COLLISIONS}`, collisions ?? 0, "cannot be decremented")]
        : []),
    ];
  };

export const deploymentStatusFaults = statusFaults({
  counts: [
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    COLLISIONS,
  ],
  amongReplicas: ["updatedReplicas", "readyReplicas", "availableReplicas"],
  ready: "readyReplicas",
});

/** The same for ReplicationControllers. */
export const replicaSetStatusFaults = statusFaults({
  counts: [
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
  ],
  amongReplicas: ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
  ready: "readyReplicas",
});

export const statefulSetStatusFaults = statusFaults({
  counts: [
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    COLLISIONS,
  ],
  amongReplicas: ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
  ready: "status.readyReplicas",
});

export const daemonSetStatusFaults = statusFaults({
  counts: [
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    COLLISIONS,
  ],
});

export const budgetStatusFaults = statusFaults({
  counts: ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"],
});

// Conditions in the status of a pod that the server writes itself.
// Source: k8s.io/kubernetes/pkg/api/v1/pod/util.go (UpdatePodCondition)

import type { Pod } from "./pods.ts";

type Conditions = NonNullable<NonNullable<Pod["status"]>["conditions"]>;
type Condition = Conditions[number];

/** A condition that holds; its reason is for programs, its message for people. */
export type HeldCondition = Pick<Condition, "type" | "reason" | "message" | "observedGeneration">;

export const withHeldCondition = (conditions: Conditions, held: HeldCondition, now: string): Conditions =>
  withCondition(conditions, { ...held, status: "True", lastProbeTime: null }, now);

/** Replaces the condition of this type. Its time changes only with its status. */
export function withCondition(
  conditions: Conditions,
  condition: Omit<Condition, "lastTransitionTime">,
  now: string,
): Conditions {
  const at = conditions.findIndex(({ type }) => type === condition.type);
  const before = conditions[at];
  const lastTransitionTime = before?.status === condition.status ? (before.lastTransitionTime ?? now) : now;
  const changed = { ...condition, lastTransitionTime };
  return before === undefined ? [...conditions, changed] : conditions.with(at, changed);
}

/** A controller is about to delete the pod, or a kubelet to end it. */
export const DISRUPTION = "DisruptionTarget";

/** The pod with the condition that a controller is about to delete it: it does not fail by itself. */
export function withDisruption(
  { status = {}, ...pod }: Pod,
  cause: { readonly reason: string; readonly message: string },
  now: string,
): Pod {
  const { generation: observedGeneration = 0 } = pod.metadata;
  const held = { ...cause, type: DISRUPTION, observedGeneration };
  return { ...pod, status: { ...status, conditions: withHeldCondition(status.conditions ?? [], held, now) } };
}

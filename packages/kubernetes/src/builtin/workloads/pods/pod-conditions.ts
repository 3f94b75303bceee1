// Conditions in the status of a pod that the server writes itself.
// Source: k8s.io/kubernetes/pkg/api/v1/pod/util.go (UpdatePodCondition)

import type { Pod } from "./pods.ts";

type Conditions = NonNullable<NonNullable<Pod["status"]>["conditions"]>;

/** A condition that holds; its reason is for programs, its message for people. */
export type HeldCondition = {
  readonly type: string;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
};

/** The time of a condition changes only with its status. */
export function withHeldCondition(conditions: Conditions, held: HeldCondition, now: string): Conditions {
  const at = conditions.findIndex(({ type }) => type === held.type);
  const before = conditions[at];
  const lastTransitionTime = before?.status === "True" ? (before.lastTransitionTime ?? now) : now;
  const condition = { ...held, status: "True", lastProbeTime: null, lastTransitionTime };
  return before === undefined ? [...conditions, condition] : conditions.with(at, condition);
}

/** The pod with the condition that a controller is about to delete it: it does not fail by itself. */
export function withDisruption(
  { status = {}, ...pod }: Pod,
  cause: { readonly reason: string; readonly message: string },
  now: string,
): Pod {
  const { generation: observedGeneration = 0 } = pod.metadata;
  const held = { ...cause, type: "DisruptionTarget", observedGeneration };
  return { ...pod, status: { ...status, conditions: withHeldCondition(status.conditions ?? [], held, now) } };
}

// Conditions in the status of a pod that the server writes itself.
// Source: k8s.io/kubernetes/pkg/api/v1/pod/util.go (UpdatePodCondition)

import type { Pod } from "./pods.ts";

type Conditions = NonNullable<NonNullable<Pod["status"]>["conditions"]>;

/** A condition that holds; its reason is for programs, its message for people. */
export type HeldCondition = { readonly type: string; readonly reason?: string; readonly message?: string };

/** The time of a condition changes only with its status. */
export function withHeldCondition(conditions: Conditions, held: HeldCondition, now: string): Conditions {
  const at = conditions.findIndex(({ type }) => type === held.type);
  const before = conditions[at];
  const lastTransitionTime = before?.status === "True" ? (before.lastTransitionTime ?? now) : now;
  const condition = { ...held, status: "True", lastProbeTime: null, lastTransitionTime };
  return before === undefined ? [...conditions, condition] : conditions.with(at, condition);
}

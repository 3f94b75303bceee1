// What a status says about whether something is reached.

import type { ConditionState } from "../resources/conditions.ts";
import type { VirtualClusterHealth } from "../virtual-clusters/virtual-cluster-backend.ts";

export const readyCondition = (health: VirtualClusterHealth): ConditionState =>
  health.ready
    ? { type: "Ready", holds: true, reason: "Reached", message: "Its API answers" }
    : { type: "Ready", holds: false, reason: health.reason, message: health.message };

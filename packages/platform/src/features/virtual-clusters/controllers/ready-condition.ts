// The Ready condition of objects that must be reachable.

import type { ConditionState } from "@postern/api/conditions";
import type { VirtualClusterHealth } from "../virtual-cluster-backend.ts";

/** `reached` is the message of a reachable object. */
export const readyCondition = (health: VirtualClusterHealth, reached = "Its API answers"): ConditionState =>
  health.ready
    ? { type: "Ready", holds: true, reason: "Reached", message: reached }
    : { type: "Ready", holds: false, reason: health.reason, message: health.message };

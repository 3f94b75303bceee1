// The status of a space, from how its backend is.

import { withCondition } from "../../api/conditions.ts";
import type { SpaceInstance } from "../../api/space-instance.ts";
import type { VirtualClusterHealth } from "../../clusters/virtual-cluster-backend.ts";
import { readyCondition } from "../ready-condition.ts";

/** `now` in milliseconds. */
export function spaceStatus(
  instance: SpaceInstance,
  health: VirtualClusterHealth,
  now: number,
): NonNullable<SpaceInstance["status"]> {
  const { reason: _reason, message: _message, space: _space, ...kept } = instance.status ?? {};
  const template = instance.spec?.template;
  return {
    ...kept,
    phase: health.ready ? "Ready" : "Pending",
    ...(health.ready ? {} : { reason: health.reason, message: health.message }),
    ...(template === undefined ? {} : { space: template }),
    conditions: withCondition(kept.conditions ?? [], readyCondition(health, "Its namespace is there"), now),
  };
}

// The status of a space, derived from the health of its backend.

import { withCondition } from "@postern/api/conditions";
import type { SpaceInstance } from "@postern/api/space-instance";
import { phaseOf } from "../../sleep.ts";
import type { VirtualClusterHealth } from "../../virtual-cluster-backend.ts";
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
    phase: phaseOf(health),
    ...(health.ready ? {} : { reason: health.reason, message: health.message }),
    ...(template === undefined ? {} : { space: template }),
    conditions: withCondition(kept.conditions ?? [], readyCondition(health, "The namespace exists"), now),
  };
}

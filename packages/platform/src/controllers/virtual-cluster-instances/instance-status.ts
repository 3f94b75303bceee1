// The status of a virtual cluster instance, from how its backend is.

import { withCondition } from "../../api/conditions.ts";
import {
  type Phase,
  renderTemplate,
  type VirtualClusterInstance,
  type VirtualClusterInstanceStatus,
} from "../../api/virtual-cluster-instance.ts";
import { SLEEPING } from "../../clusters/sleep.ts";
import type { VirtualClusterHealth } from "../../clusters/virtual-cluster-backend.ts";
import { readyCondition } from "../ready-condition.ts";

/** `now` in milliseconds. */
export function instanceStatus(
  instance: VirtualClusterInstance,
  health: VirtualClusterHealth,
  now: number,
): VirtualClusterInstanceStatus {
  const { reason: _reason, message: _message, virtualCluster: _rendered, ...kept } = instance.status ?? {};
  const rendered = renderTemplate(instance);
  return {
    ...kept,
    phase: phaseOf(health),
    ...(health.ready ? { kubernetesVersion: health.version } : { reason: health.reason, message: health.message }),
    serviceUID: instance.metadata.uid ?? "",
    ...(rendered === undefined ? {} : { virtualCluster: rendered }),
    conditions: withCondition(kept.conditions ?? [], readyCondition(health), now),
  };
}

function phaseOf(health: VirtualClusterHealth): Phase {
  if (health.ready) return "Ready";
  return health.reason === SLEEPING ? "Sleeping" : "Pending";
}

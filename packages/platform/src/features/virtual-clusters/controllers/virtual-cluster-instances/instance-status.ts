// The status of a virtual cluster instance, derived from the health of its backend.

import { type Condition, type ConditionState, withCondition } from "@postern/api/conditions";
import type { VirtualClusterInstance, VirtualClusterInstanceStatus } from "@postern/api/virtual-cluster-instance";
import { withAgentConditions } from "../../../cluster-tunnels/tunnel-conditions.ts";
import type { RenderedTemplate } from "../../render-template.ts";
import { phaseOf } from "../../sleep.ts";
import type { VirtualClusterHealth } from "../../virtual-cluster-backend.ts";
import type { AppliedObjects } from "../instance-controller.ts";
import { readyCondition } from "../ready-condition.ts";

export const OBJECTS_APPLIED = "ObjectsApplied";

export type MadeFrom = Pick<RenderedTemplate, "template"> & { readonly fault?: string | undefined };

/** `now` in milliseconds. */
export function instanceStatus(
  instance: VirtualClusterInstance,
  { template, fault }: MadeFrom,
  {
    health,
    now,
    objects,
    agent = [],
  }: {
    health: VirtualClusterHealth;
    now: number;
    objects?: AppliedObjects | undefined;
    /** Conditions that are about its agent. */
    agent?: readonly ConditionState[];
  },
): VirtualClusterInstanceStatus {
  const { reason: _reason, message: _message, virtualCluster: _rendered, ...kept } = instance.status ?? {};
  const refers = (instance.spec?.templateRef?.name ?? "") !== "" && instance.spec?.template === undefined;
  const ready = withAgentConditions(withCondition(kept.conditions ?? [], readyCondition(health), now), agent, now);
  const conditions = refers ? withCondition(ready, templateCondition(fault), now) : ready;
  return {
    ...kept,
    phase: phaseOf(health),
    ...(health.ready ? { kubernetesVersion: health.version } : { reason: health.reason, message: health.message }),
    serviceUID: instance.metadata.uid ?? "",
    ...(template === undefined ? {} : { virtualCluster: template }),
    ...(objects === undefined ? {} : { deployHash: objects.hash }),
    conditions: withObjects(conditions, objects, now),
  };
}

const withObjects = (
  conditions: readonly Condition[],
  objects: AppliedObjects | undefined,
  now: number,
): readonly Condition[] =>
  objects === undefined ? conditions : withCondition(conditions, objectsCondition(objects), now);

const templateCondition = (fault: string | undefined) =>
  fault === undefined
    ? { type: "TemplateApplied", holds: true, reason: "Rendered", message: "the template is filled in" }
    : { type: "TemplateApplied", holds: false, reason: "NotRendered", message: fault };

const objectsCondition = ({ fault }: AppliedObjects) =>
  fault === undefined
    ? { type: OBJECTS_APPLIED, holds: true, reason: "Applied", message: "all objects of the template are applied" }
    : { type: OBJECTS_APPLIED, holds: false, reason: "NotApplied", message: fault };

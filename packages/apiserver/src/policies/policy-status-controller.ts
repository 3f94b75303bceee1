// Keeps `status` of ValidatingAdmissionPolicies: what is suspicious in their expressions.
// Source: k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus/controller.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { ignoringConflicts, updateControlled } from "../controllers/controlled-objects.ts";
import type { Controller, ControllerPort } from "../controllers/controller-port.ts";
import { followKeys } from "../controllers/follow-keys.ts";
import { createQueueController } from "../controllers/queue-controller.ts";
import { WorkQueue } from "../controllers/work-queue.ts";
import type { InstalledResource, ResourceRegistry } from "../registry/resource-registry.ts";
import { inTurns } from "../runtime/in-slices.ts";
import { typeWarningsOf } from "./type-checking.ts";
import type { Policy } from "./validating-admission-policy.ts";

/** A policy is looked at once for each generation: a kind that comes later is not looked at again for its sake, as upstream. */
export function createPolicyStatusController(
  port: ControllerPort,
  policies: InstalledResource,
  registry: Pick<ResourceRegistry, "definitions">,
): Controller {
  const queue = new WorkQueue(port, { name: "validating_admission_policy_status", process, concurrency: 1 });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // What the store holds has gone through the schema of the kind.
    const policy = policies.view.get(key)?.decode() as Policy | undefined;
    if (policy === undefined) return;
    const { generation = 0 } = policy.metadata;
    if (policy.status?.observedGeneration === generation) return;
    const expressionWarnings = await inTurns(typeWarningsOf(policy, registry.definitions), port.runtime.clock);
    const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings };
    const transform = (current: KubeObject): KubeObject => ({
      ...current,
      status: { ...(current as Policy).status, observedGeneration: generation, typeChecking },
    });
    await ignoringConflicts(() =>
      updateControlled(port, policies, policy, { subresource: "status", transform }, signal),
    );
  }

  return createQueueController(queue, [followKeys(policies, port.runtime.scheduler, (key) => queue.add(key))]);
}

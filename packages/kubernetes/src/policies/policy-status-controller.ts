// Updates `status` of ValidatingAdmissionPolicies with the type warnings of their expressions. They change no decision.
// Source: k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus/controller.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { inTurns } from "@postern/apiserver/runtime/in-slices";
import { typeWarningsOf } from "./type-warnings.ts";
import type { Policy } from "./validating-admission-policy.ts";

/** A policy is looked at once for each generation: a kind that comes later is not looked at again for its sake, as upstream. */
export function createPolicyStatusController(
  port: ControllerPort,
  policies: InstalledResource,
  registry: Pick<ResourceRegistry, "definitions">,
): Controller {
  const queue = new WorkQueue(port, { name: "validating_admission_policy_status", process, concurrency: 1 });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // Stored objects have passed the schema of their kind.
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
    await updateStatus(port, policies, policy, transform, signal);
  }

  return createQueueController(queue, [followKeys(policies, port.runtime.scheduler, (key) => queue.add(key))]);
}

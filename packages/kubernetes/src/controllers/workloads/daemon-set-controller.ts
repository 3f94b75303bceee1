// DaemonSets: without nodes they have no pods, only revisions of their template and a status.
// Source: k8s.io/kubernetes/pkg/controller/daemon/{daemon_controller,update}.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { PodTemplate } from "../../builtin/workloads/pods/pod-fields.ts";
import { createCreationBackoff } from "./creation-backoff.ts";
import type { OwnedObjects } from "./owned-objects.ts";
import { refusal } from "./pod-control.ts";
import { readStored } from "./read-stored.ts";
import { createRevisions } from "./revisions.ts";
import { REVISION_LABEL } from "./stateful-sets/stateful-set.ts";
import { actingAs, retryLater, type WorkloadPort } from "./workload-port.ts";
import { statusMembers, writeStatus } from "./write-status.ts";

type DaemonSet = KubeObject & {
  readonly spec: { readonly template: PodTemplate; readonly revisionHistoryLimit?: number };
  readonly status?: { readonly collisionCount?: number; readonly conditions?: JsonValue };
};

const COUNTS = ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"];

export function createDaemonSetController(base: WorkloadPort, ownedRevisions: OwnedObjects): Controller {
  const port = actingAs(base, "daemon-set-controller");
  const { clock, scheduler } = port.runtime;
  const sets = port.resource("apps", "DaemonSet");
  const revisions = createRevisions(port, ownedRevisions, REVISION_LABEL);
  const backoff = createCreationBackoff(clock);
  const queue = new WorkQueue(port, { name: "daemonset", process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    await ownedRevisions.scanned();
    const busy = port.looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    const set = readStored<DaemonSet>(port, sets, key);
    if (set === undefined || isBeingDeleted(set)) return;
    const { uid = "", generation = 0 } = set.metadata;
    const delay = backoff.delayMs(uid, generation);
    if (delay > 0) return retryLater(queue, key, delay);
    const known = await revisions.of(set);
    try {
      const { metadata } = await revisions.ensure(set, set.spec.template, known, signal);
      await revisions.cleanUp(known, new Set([metadata.name ?? ""]), set.spec.revisionHistoryLimit ?? 10, signal);
      backoff.succeeded(uid);
    } catch (error) {
      refusal(error);
      backoff.failed(uid, generation);
      retryLater(queue, key, backoff.delayMs(uid, generation));
    }
    const counts = Object.fromEntries(COUNTS.map((name) => [name, 0]));
    // Nothing here writes conditions: those that a client has written stay.
    const { collisionCount, conditions } = set.status ?? {};
    await writeStatus(
      port,
      sets,
      set,
      statusMembers({ ...counts, observedGeneration: generation, collisionCount, conditions }, COUNTS),
      signal,
    );
  }

  return createQueueController(queue, [followKeys(sets, scheduler, (key) => queue.add(key))]);
}

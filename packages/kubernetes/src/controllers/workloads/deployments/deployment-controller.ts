// Deployments: keep ReplicaSets of their template, and move pods from the old ones to the newest.
// Source: k8s.io/kubernetes/pkg/controller/deployment/{deployment_controller,sync,rolling,recreate}.go

import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { createClaims } from "../claims.ts";
import { type Condition, conditionOf, withCondition } from "../conditions.ts";
import { createCreationBackoff } from "../creation-backoff.ts";
import { followOwners, type OwnedObjects } from "../owned-objects.ts";
import { podStateOf } from "../pod-state.ts";
import { createSummaries, readStored } from "../read-stored.ts";
import { actingAs, eventsBy, retryLater, type WorkloadPort } from "../workload-port.ts";
import { writeStatus } from "../write-status.ts";
import {
  activeSets,
  type Deployment,
  type DeploymentStatus,
  desiredReplicas,
  findNewSet,
  hasDeadline,
  isComplete,
  isRolling,
  type OwnedSet,
  REVISION,
  replicasOf,
  type SizedSet,
  summaryOfSet,
} from "./deployment.ts";
import { recreate, rollOut, scaleAll } from "./deployment-rollout.ts";
import { createDeploymentSets } from "./deployment-sets.ts";
import { condition, countedStatus, PROGRESSING, rolloutStatus, TIMED_OUT, timeoutIn } from "./deployment-status.ts";

export function createDeploymentController(base: WorkloadPort, replicaSets: OwnedObjects): Controller {
  const port = actingAs(base, "deployment-controller");
  const { clock, scheduler } = port.runtime;
  const deployments = port.resource("apps", "Deployment");
  const says = eventsBy(port.recorder("deployment-controller"));
  const sets = createDeploymentSets(port, port.resource("apps", "ReplicaSet"), says);
  const backoff = createCreationBackoff(clock);
  const queue = new WorkQueue(port, { name: "deployment", process });
  const claims = createClaims(port, {
    name: "deployment_claims",
    owners: deployments,
    dependents: replicaSets,
    onOwner: (key) => queue.add(key),
  });
  const summaries = createSummaries(port, summaryOfSet);

  async function process(key: string, signal: AbortSignal): Promise<void> {
    await replicaSets.scanned();
    await port.pods.scanned();
    const busy = port.looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    const deployment = readStored<Deployment>(port, deployments, key);
    if (deployment === undefined) return;
    const claimed = await claims.claim(deployment, signal);
    const { view } = replicaSets.resource;
    await sync(key, deployment, await summaries(claimed.flatMap(({ key: setKey }) => view.get(setKey) ?? [])), signal);
  }

  /** One step towards what the Deployment says; each change of a ReplicaSet leads to the next. */
  async function sync(
    key: string,
    deployment: Deployment,
    all: readonly OwnedSet[],
    signal: AbortSignal,
  ): Promise<void> {
    const found = findNewSet(deployment, all);
    const step = { deployment, all, newSet: found, conditions: pausedConditions(deployment) };
    if (isBeingDeleted(deployment)) {
      await writeStatus(port, deployments, deployment, countedStatus({ ...step, now: clock.now() }), signal);
      return;
    }
    const old = all.filter((set) => set !== found);
    if (found !== undefined && (await sets.annotate(deployment, found, old, signal))) return;
    const isScaled = activeSets(all).some(
      (set) => (desiredReplicas(set) ?? replicasOf(deployment)) !== replicasOf(deployment),
    );
    if (deployment.spec.paused === true || isScaled) {
      await scaleAll(sets, deployment, found, old, signal);
      if (deployment.spec.paused === true) await sets.cleanUp(deployment, old, signal);
      const status = countedStatus({ ...step, now: clock.now() });
      await writeStatus(port, deployments, deployment, status, signal, revision(found));
      return;
    }
    if (!isRolling(deployment) && (await recreate(sets, deployment, found, old, hasPods, signal)))
      return finish(key, { ...step, signal });
    const delay = backoff.delayMs(deployment.metadata.uid ?? "", deployment.metadata.generation ?? 0);
    if (found === undefined && delay > 0) {
      retryLater(queue, key, delay);
      return;
    }
    const made = await sets.ensureNew(deployment, all, signal);
    if ("collisionCount" in made) {
      const status = { ...deployment.status, collisionCount: made.collisionCount };
      await writeStatus(port, deployments, deployment, status, signal);
      return;
    }
    if ("refused" in made) return refused(key, step, made, signal);
    backoff.succeeded(deployment.metadata.uid ?? "");
    const newSet = made.set;
    const conditions = newSetConditions(deployment, step.conditions, newSet, made.isCreated);
    const present = made.isCreated ? [...all, newSet] : all;
    const hasChanged =
      !made.isCreated && (await rollOut(sets, { deployment, newSet, old, isRolling: isRolling(deployment) }, signal));
    if (!hasChanged && isComplete(deployment, deployment.status)) await sets.cleanUp(deployment, old, signal);
    await finish(key, { deployment, all: present, newSet, conditions, signal });
  }

  type Step = {
    readonly deployment: Deployment;
    readonly all: readonly SizedSet[];
    readonly newSet: SizedSet | undefined;
    readonly conditions: readonly Condition[];
  };

  async function finish(key: string, { signal, ...step }: Step & { readonly signal: AbortSignal }): Promise<void> {
    const { deployment, newSet } = step;
    const status: DeploymentStatus = rolloutStatus({ ...step, now: clock.now() });
    await writeStatus(port, deployments, deployment, status, signal, revision(newSet));
    const timeout = timeoutIn(deployment, status, clock.now());
    if (timeout !== undefined) retryLater(queue, key, timeout);
  }

  async function refused(
    key: string,
    step: Step,
    { refused: why, name }: { readonly refused: string; readonly name: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { deployment, conditions } = step;
    const { uid = "", generation = 0 } = deployment.metadata;
    backoff.failed(uid, generation);
    retryLater(queue, key, backoff.delayMs(uid, generation));
    const message = `Failed to create new replica set "${name}": ${why}`;
    says(deployment, "Warning", "ReplicaSetCreateError", message);
    if (!hasDeadline(deployment)) return;
    const failed = condition(PROGRESSING, "False", "ReplicaSetCreateError", message, clock.now());
    const status = countedStatus({ ...step, conditions: withCondition(conditions, failed), now: clock.now() });
    await writeStatus(port, deployments, deployment, status, signal);
  }

  /** A pause is no lack of progress. */
  function pausedConditions(deployment: Deployment): readonly Condition[] {
    const { conditions = [] } = deployment.status ?? {};
    const current = conditionOf(conditions, PROGRESSING);
    if (!hasDeadline(deployment) || current?.reason === TIMED_OUT) return conditions;
    const isPaused = deployment.spec.paused === true;
    const wasPaused = current?.reason === "DeploymentPaused";
    if (isPaused === wasPaused) return conditions;
    const next = isPaused
      ? condition(PROGRESSING, "Unknown", "DeploymentPaused", "Deployment is paused", clock.now())
      : condition(PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed", clock.now());
    return withCondition(conditions, next);
  }

  function newSetConditions(
    deployment: Deployment,
    conditions: readonly Condition[],
    { metadata: { name = "" } }: SizedSet,
    isCreated: boolean,
  ): readonly Condition[] {
    if (!hasDeadline(deployment)) return conditions;
    const [reason, message] = isCreated
      ? ["NewReplicaSetCreated", `Created new replica set "${name}"`]
      : ["FoundNewReplicaSet", `Found new replica set "${name}"`];
    if (!isCreated && conditionOf(conditions, PROGRESSING) !== undefined) return conditions;
    return withCondition(conditions, condition(PROGRESSING, "True", reason, message, clock.now()));
  }

  const revision = (set: SizedSet | undefined): { readonly [name: string]: string } => {
    const text = set?.metadata.annotations?.[REVISION];
    return text === undefined ? {} : { [REVISION]: text };
  };

  /** A pod that is being deleted still runs. */
  const hasPods = ({ metadata: { uid = "" } }: SizedSet): boolean => {
    for (const pod of port.pods.of(uid)) {
      const { phase } = podStateOf(pod);
      if (phase !== "Succeeded" && phase !== "Failed") return true;
    }
    return false;
  };

  const observing = followOwners(replicaSets, "Deployment", deployments, (key) => queue.add(key));
  const following = followKeys(deployments, scheduler, (key) => queue.add(key));
  return createQueueController(filledQueue(claims, queue), [observing, following]);
}

// The steps by which the pods of a Deployment move between its ReplicaSets.
// Source: k8s.io/kubernetes/pkg/controller/deployment/{sync,rolling,recreate}.go

import {
  activeSets,
  type Deployment,
  isRolling,
  isSaturated,
  maxSurge,
  maxUnavailable,
  newReplicas,
  oldestFirst,
  proportionOf,
  replicasOf,
  type SizedSet,
  specReplicas,
  sumOf,
} from "./deployment.ts";
import type { DeploymentSets } from "./deployment-sets.ts";

type Sets = Pick<DeploymentSets, "scale">;
const availableOf = ({ status }: SizedSet): number => status?.availableReplicas ?? 0;

/** Brings all ReplicaSets to the number of pods that the Deployment wants now, without going on with the rollout. */
export async function scaleAll(
  sets: Sets,
  deployment: Deployment,
  newSet: SizedSet | undefined,
  old: readonly SizedSet[],
  signal: AbortSignal,
): Promise<void> {
  const only = activeOrLatest(newSet, old);
  if (only !== undefined) {
    await sets.scale(deployment, only, replicasOf(deployment), signal);
    return;
  }
  if (isSaturated(deployment, newSet)) {
    for (const set of activeSets(old)) await sets.scale(deployment, set, 0, signal);
    return;
  }
  if (isRolling(deployment)) await scaleInProportion(sets, deployment, newSet, old, signal);
}

function activeOrLatest(newSet: SizedSet | undefined, old: readonly SizedSet[]): SizedSet | undefined {
  const newestFirst = old.toSorted(oldestFirst).toReversed();
  const active = activeSets([...newestFirst, ...(newSet === undefined ? [] : [newSet])]);
  if (active.length === 0) return newSet ?? newestFirst[0];
  return active.length === 1 ? active[0] : undefined;
}

async function scaleInProportion(
  sets: Sets,
  deployment: Deployment,
  newSet: SizedSet | undefined,
  old: readonly SizedSet[],
  signal: AbortSignal,
): Promise<void> {
  const active = activeSets([...old, ...(newSet === undefined ? [] : [newSet])]);
  const replicas = replicasOf(deployment);
  const allowed = replicas > 0 ? replicas + maxSurge(deployment) : 0;
  const toAdd = allowed - specReplicas(active);
  const byAge = (a: SizedSet, b: SizedSet) => (toAdd > 0 ? oldestFirst(b, a) : oldestFirst(a, b));
  const largestFirst = active.toSorted((a, b) => replicasOf(b) - replicasOf(a) || byAge(a, b));
  let added = 0;
  const sizes = largestFirst.map((set) => {
    const proportion = proportionOf(deployment, set, toAdd, added);
    added += proportion;
    return replicasOf(set) + proportion;
  });
  for (const [index, set] of largestFirst.entries()) {
    const rest = index === 0 ? toAdd - added : 0;
    await sets.scale(deployment, set, Math.max(0, (sizes[index] ?? 0) + rest), signal);
  }
}

/** Before all pods of old ReplicaSets are gone, there is none of the new one. True while that is so. */
export async function recreate(
  sets: Sets,
  deployment: Deployment,
  newSet: SizedSet | undefined,
  old: readonly SizedSet[],
  hasPods: (set: SizedSet) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  let isScaled = false;
  for (const set of activeSets(old)) isScaled = (await sets.scale(deployment, set, 0, signal)) || isScaled;
  return isScaled || old.some((set) => set !== newSet && ((set.status?.replicas ?? 0) > 0 || hasPods(set)));
}

export type Rollout = {
  readonly deployment: Deployment;
  readonly newSet: SizedSet;
  readonly old: readonly SizedSet[];
  readonly isRolling: boolean;
};

/** One step: more pods of the new ReplicaSet, or fewer of the old ones. True if there was one to take. */
export async function rollOut(sets: Sets, rollout: Rollout, signal: AbortSignal): Promise<boolean> {
  const { deployment, newSet, old } = rollout;
  const [present, replicas] = [replicasOf(newSet), replicasOf(deployment)];
  if (present !== replicas) {
    const next = present > replicas ? replicas : newReplicas(deployment, [...old, newSet], present);
    if (next !== present) return await sets.scale(deployment, newSet, next, signal);
  }
  return rollout.isRolling && (await scaleDownOld(sets, rollout, signal));
}

async function scaleDownOld(sets: Sets, { deployment, newSet, old }: Rollout, signal: AbortSignal): Promise<boolean> {
  const active = activeSets(old).toSorted(oldestFirst);
  if (active.length === 0) return false;
  const all = [...active, newSet];
  const minAvailable = replicasOf(deployment) - maxUnavailable(deployment);
  const unavailable = replicasOf(newSet) - availableOf(newSet);
  const room = specReplicas(all) - minAvailable - unavailable;
  if (room <= 0) return false;
  const sizes = new Map(active.map((set) => [set, replicasOf(set)]));
  // Pods that are not available go first: without them no fewer are.
  let removed = take(sizes, room, (set) => replicasOf(set) - availableOf(set));
  removed += take(sizes, sumOf(all, availableOf) - minAvailable, (set) => sizes.get(set) ?? 0);
  for (const [set, size] of sizes) {
    if (size !== replicasOf(set)) await sets.scale(deployment, set, size, signal);
  }
  return removed > 0;
}

/** Takes up to `most` from the sizes, from each no more than `part` says. Returns how many. */
function take(sizes: Map<SizedSet, number>, most: number, part: (set: SizedSet) => number): number {
  let left = Math.max(0, most);
  let taken = 0;
  for (const [set, size] of sizes) {
    const amount = Math.min(left, size, Math.max(0, part(set)));
    sizes.set(set, size - amount);
    left -= amount;
    taken += amount;
  }
  return taken;
}

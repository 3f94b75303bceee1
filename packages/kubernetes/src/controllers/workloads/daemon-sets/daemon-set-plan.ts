// Plans which pods of a DaemonSet to create and to delete.
// Source: k8s.io/kubernetes/pkg/controller/daemon/{daemon_controller,update}.go (podsShouldBeOnNode, rollingUpdate)

import type { PodState } from "../pod-state.ts";
import { allowsSurge, type DaemonPod, type DaemonSet, isAvailable, rolloutLimits } from "./daemon-set.ts";
import type { NodeFit } from "./node-rule.ts";

/** A DaemonSet with its pods at one moment. */
export type DaemonState = {
  readonly set: DaemonSet;
  readonly fits: ReadonlyMap<string, NodeFit>;
  /** By Node. */
  readonly pods: ReadonlyMap<string, readonly DaemonPod[]>;
  readonly isUpdated: (pod: PodState) => boolean;
  readonly now: number;
  readonly pause: () => Promise<void> | undefined;
};

export type DaemonPlan = {
  /** Names of Nodes. */
  readonly created: readonly string[];
  readonly deleted: readonly DaemonPod[];
};

const NO_PODS: readonly DaemonPod[] = [];

const isReady = ({ readyAt }: PodState): boolean => readyAt !== undefined;

/** Pods of Nodes first, then the oldest. */
export function oldestOf(pods: readonly DaemonPod[]): DaemonPod | undefined {
  const isBefore = (a: DaemonPod, b: DaemonPod): boolean => {
    if (a.hasNode !== b.hasNode) return a.hasNode;
    return a.createdAt === b.createdAt ? a.name < b.name : a.createdAt < b.createdAt;
  };
  let oldest: DaemonPod | undefined;
  for (const pod of pods) if (oldest === undefined || isBefore(pod, oldest)) oldest = pod;
  return oldest;
}

/** One pod on each Node where it belongs, and none on others. Pods that have ended are replaced, unless `isHeld` says that it is too soon. */
export async function planPods(state: DaemonState, isHeld: (pod: DaemonPod) => boolean): Promise<DaemonPlan> {
  const { fits, pods, set, pause } = state;
  const created: string[] = [];
  const deleted: DaemonPod[] = [];
  const surges = allowsSurge(set);
  for (const [node, fit] of fits) {
    await pause();
    const there = pods.get(node);
    if (there === undefined) {
      if (fit === "run") created.push(node);
      continue;
    }
    const present = there.filter(({ isDeleted }) => !isDeleted);
    if (fit === "leave") {
      for (const pod of present) deleted.push(pod);
      continue;
    }
    const running = present.filter(({ isActive }) => isActive);
    for (const pod of present) if (!pod.isActive && !isHeld(pod)) deleted.push(pod);
    if (running.length === 0 && surges && fit === "run") created.push(node);
    if (running.length <= 1) continue;
    const kept = surges ? keptOf(state, running) : [oldestOf(running)];
    for (const pod of running) if (!kept.includes(pod)) deleted.push(pod);
  }
  // No scheduler binds them to a Node that is gone, and without a Node nothing else deletes them.
  for (const [node, there] of pods)
    if (!fits.has(node)) for (const pod of there) if (!pod.hasNode && !pod.isDeleted) deleted.push(pod);
  return { created, deleted };
}

/** The pods that stay where a Node has several: the new one, and the old one until the new one takes its place. */
function keptOf(
  { set, isUpdated, now }: DaemonState,
  running: readonly DaemonPod[],
): readonly (DaemonPod | undefined)[] {
  const newest = oldestOf(running.filter(isUpdated));
  const old = oldestOf(running.filter((pod) => !isUpdated(pod)));
  if (newest === undefined || old === undefined) return [newest, old];
  return !isReady(old) || isAvailable(newest, set, now) ? [newest] : [newest, old];
}

type Pair = { readonly node: string; readonly updated: DaemonPod | undefined; readonly old: DaemonPod | undefined };

/** Replaces pods of former templates. Called where `planPods` has nothing to do. */
export async function planRollout(state: DaemonState): Promise<DaemonPlan> {
  const { fits, set } = state;
  let desired = 0;
  for (const fit of fits.values()) if (fit === "run") desired++;
  const { surge, unavailable } = rolloutLimits(set, desired);
  const { pairs, crowded } = await pairsOf(state);
  return surge === 0 ? replacing(state, pairs, unavailable - crowded) : surging(state, pairs, surge - crowded, desired);
}

/** Nodes in the order of their names, so that two servers choose the same. `crowded`: how many have too many pods. */
async function pairsOf({ fits, pods, isUpdated, pause }: DaemonState): Promise<{
  readonly pairs: readonly Pair[];
  readonly crowded: number;
}> {
  const names = new Set(pods.keys());
  for (const [node, fit] of fits) if (fit === "run") names.add(node);
  const pairs: Pair[] = [];
  let crowded = 0;
  for (const node of [...names].toSorted()) {
    await pause();
    const present = (pods.get(node) ?? NO_PODS).filter(({ isDeleted }) => !isDeleted);
    const [updated, secondUpdated] = present.filter(isUpdated);
    const [old, secondOld] = present.filter((pod) => !isUpdated(pod));
    if (secondUpdated !== undefined || secondOld !== undefined) crowded++;
    else pairs.push({ node, updated, old });
  }
  return { pairs, crowded };
}

/** Deletes old pods. The pods that take their place are created once they are gone. `room`: how many more may be unavailable. */
function replacing({ set, now }: DaemonState, pairs: readonly Pair[], room: number): DaemonPlan {
  const deleted: DaemonPod[] = [];
  const candidates: DaemonPod[] = [];
  let left = room;
  for (const { updated, old } of pairs) {
    const one = updated === undefined ? old : old === undefined ? updated : undefined;
    if (one === undefined || !isAvailable(one, set, now)) left--;
    if (one === undefined || one !== old) continue;
    (isAvailable(one, set, now) ? candidates : deleted).push(one);
  }
  return { created: [], deleted: [...deleted, ...candidates.slice(0, Math.max(0, left))] };
}

/** Creates new pods beside old ones, which go when these are available. `room`: how many more may be created for old ones that are available. */
function surging({ set, fits, now }: DaemonState, pairs: readonly Pair[], room: number, desired: number): DaemonPlan {
  const created: string[] = [];
  const candidates: string[] = [];
  const deleted: DaemonPod[] = [];
  /** They go when enough others are available. */
  const misplaced: DaemonPod[] = [];
  let left = room;
  let available = 0;
  for (const { node, updated, old } of pairs) {
    const first = old ?? updated;
    const isUp = first !== undefined && isAvailable(first, set, now);
    if (isUp) available++;
    if (old === undefined) continue;
    if (updated !== undefined) {
      if (isAvailable(updated, set, now)) deleted.push(old);
      else left--;
    } else if (fits.get(node) !== "run") (isUp ? misplaced : deleted).push(old);
    else (isUp ? candidates : created).push(node);
  }
  return {
    created: [...created, ...candidates.slice(0, Math.max(0, left))],
    deleted: [...deleted, ...misplaced.slice(0, Math.max(0, available - desired))],
  };
}

// The state of a stored pod as controllers need it, read from its bytes once.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { hasEnded } from "../../builtin/workloads/pods/pods.ts";
import type { Condition } from "./conditions.ts";

export type PodState = {
  readonly object: CachedObject;
  readonly name: string;
  readonly uid: string;
  readonly phase: string;
  /** Milliseconds of the day's clock, here and below. */
  readonly createdAt: number;
  /** Undefined: it is not ready. */
  readonly readyAt: number | undefined;
  /** The end of its last container. Undefined: not known. */
  readonly finishedAt: number | undefined;
  readonly isDeleted: boolean;
  /** Neither finished nor being deleted. */
  readonly isActive: boolean;
  readonly hasNode: boolean;
  readonly restarts: number;
  readonly finalizers: readonly string[];
  readonly annotations: { readonly [name: string]: string };
};

const readPod = createMemberReader({
  metadata: {
    name: true,
    uid: true,
    creationTimestamp: true,
    deletionTimestamp: true,
    finalizers: true,
    annotations: true,
  },
  spec: { nodeName: true },
  status: { phase: true, conditions: true, containerStatuses: true },
});

type PodMembers = {
  readonly metadata?: {
    readonly name?: string;
    readonly uid?: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string | null;
    readonly finalizers?: readonly string[];
    readonly annotations?: { readonly [name: string]: string };
  };
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly {
      readonly restartCount?: number;
      readonly state?: { readonly terminated?: { readonly finishedAt?: string } };
    }[];
  };
};

const known = new WeakMap<CachedObject, PodState>();

export function podStateOf(object: CachedObject): PodState {
  const state = known.get(object) ?? readState(object);
  known.set(object, state);
  return state;
}

/** The states of very many pods, in turns. */
export async function podStatesOf(
  objects: Iterable<CachedObject>,
  pause: () => Promise<void> | undefined,
): Promise<readonly PodState[]> {
  const states: PodState[] = [];
  for (const object of objects) {
    states.push(podStateOf(object));
    await pause();
  }
  return states;
}

/** The first `count` of very many in this order, in turns: sorting all of them would be one. */
export async function firstOf(
  pods: readonly PodState[],
  order: (a: PodState, b: PodState) => number,
  count: number,
  pause: () => Promise<void> | undefined,
): Promise<readonly PodState[]> {
  const first: PodState[] = [];
  for (const pod of pods) {
    const last = first.at(-1);
    if (first.length < count || (last !== undefined && order(pod, last) < 0)) {
      const at = first.findIndex((each) => order(pod, each) < 0);
      first.splice(at < 0 ? first.length : at, 0, pod);
      if (first.length > count) first.pop();
    }
    await pause();
  }
  return first;
}

function readState(object: CachedObject): PodState {
  // Stored objects have passed the schema of their kind.
  const { metadata = {}, spec = {}, status = {} } = object.read(readPod) as JsonObject & PodMembers;
  const { phase = "" } = status;
  const isDeleted = (metadata.deletionTimestamp ?? null) !== null;
  const ready = status.conditions?.find(({ type, status: holds }) => type === "Ready" && holds === "True");
  const ends = (status.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ""));
  const isFinished = hasEnded({ status });
  const unready = status.conditions?.find(({ type, status: holds }) => type === "Ready" && holds === "False");
  const lastEnd = ends.length > 0 ? Math.max(...ends) : Number.NaN;
  const end = Number.isNaN(lastEnd) ? Date.parse(unready?.lastTransitionTime ?? "") : lastEnd;
  return {
    object,
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    phase,
    createdAt: Date.parse(metadata.creationTimestamp ?? "") || 0,
    readyAt: ready === undefined ? undefined : Date.parse(ready.lastTransitionTime ?? "") || 0,
    finishedAt: isFinished && !Number.isNaN(end) ? end : undefined,
    isDeleted,
    isActive: !isDeleted && !isFinished,
    hasNode: (spec.nodeName ?? "") !== "",
    restarts: Math.max(0, ...(status.containerStatuses ?? []).map(({ restartCount = 0 }) => restartCount)),
    finalizers: metadata.finalizers ?? [],
    annotations: metadata.annotations ?? {},
  };
}

const PHASES: readonly string[] = ["Pending", "Unknown", "Running"];
const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";
const costOf = ({ annotations }: PodState): number => Number.parseInt(annotations[DELETION_COST] ?? "0", 10) || 0;

/**
 * Those that are deleted first come first. Equal pods are in the order of their names, so that two servers choose the same.
 * Source: k8s.io/kubernetes/pkg/controller/controller_utils.go (ActivePodsWithRanks)
 */
export function byDeletion(a: PodState, b: PodState): number {
  const order =
    Number(a.hasNode) - Number(b.hasNode) ||
    PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase) ||
    Number(a.readyAt !== undefined) - Number(b.readyAt !== undefined) ||
    costOf(a) - costOf(b) ||
    (b.readyAt ?? 0) - (a.readyAt ?? 0) ||
    b.restarts - a.restarts ||
    b.createdAt - a.createdAt;
  return order !== 0 ? order : a.name < b.name ? -1 : 1;
}

/** Milliseconds until a ready pod is available; 0 if it is, undefined if it is not ready. */
export function availableIn({ readyAt }: PodState, minReadySeconds: number, now: number): number | undefined {
  if (readyAt === undefined) return undefined;
  return minReadySeconds === 0 ? 0 : Math.max(0, readyAt + minReadySeconds * 1_000 - now);
}

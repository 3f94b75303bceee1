// Deployments, their ReplicaSets, and the numbers that a rollout is made of.
// Source: k8s.io/kubernetes/pkg/controller/deployment/util/deployment_util.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { PodTemplate } from "../../../builtin/workloads/pods/pod-fields.ts";
import { type Condition, conditionOf } from "../conditions.ts";
import { digestOf, inOrder } from "../digest.ts";
import { derivedSuffix } from "../pod-control.ts";
import type { ReplicaSet } from "../replica-set-controller.ts";
import { parseRevision } from "../revision-number.ts";
import { scaledValue } from "../scaled-value.ts";

export type DeploymentStatus = {
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly observedGeneration?: number;
  readonly collisionCount?: number;
  readonly conditions?: readonly Condition[];
};

export type Deployment = KubeObject & {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector?: JsonObject;
    readonly template: PodTemplate;
    readonly paused?: boolean;
    readonly revisionHistoryLimit?: number;
    readonly progressDeadlineSeconds?: number;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string };
    };
  };
  readonly status?: DeploymentStatus;
};

/** Members that a rollout looks at. */
export type SizedSet = KubeObject & {
  readonly spec: Pick<ReplicaSet["spec"], "replicas" | "minReadySeconds">;
  readonly status?: ReplicaSet["status"];
};

/** A ReplicaSet without its template, which may be large: a Deployment may have very many. */
export type OwnedSet = SizedSet & { readonly templateDigest: string };

/** The condition of a ReplicaSet whose pods are refused, and of its Deployment. */
export const FAILURE = "ReplicaFailure";
export const HASH_LABEL = "pod-template-hash";
export const REVISION = "deployment.kubernetes.io/revision";
export const REVISION_HISTORY = "deployment.kubernetes.io/revision-history";
export const DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas";
export const MAX_REPLICAS = "deployment.kubernetes.io/max-replicas";

/** As of Go: no deadline. */
const NO_DEADLINE = 2 ** 31 - 1;
const HASH_LENGTH = 10;

export const replicasOf = ({ spec }: SizedSet | Deployment): number => spec.replicas ?? 1;
export const sumOf = <T>(items: readonly T[], amount: (item: T) => number): number =>
  items.reduce((sum, item) => sum + amount(item), 0);
export const specReplicas = (sets: readonly SizedSet[]): number => sumOf(sets, replicasOf);
export const activeSets = <Set extends SizedSet>(sets: readonly Set[]): readonly Set[] =>
  sets.filter((set) => replicasOf(set) > 0);

export const isRolling = ({ spec }: Deployment): boolean => spec.strategy?.type !== "Recreate";
export const hasDeadline = ({ spec }: Deployment): boolean =>
  spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== NO_DEADLINE;

/** Pods beyond those that are wanted. */
export function maxSurge(deployment: Deployment): number {
  if (!isRolling(deployment)) return 0;
  return scaledValue(deployment.spec.strategy?.rollingUpdate?.maxSurge ?? 0, replicasOf(deployment));
}

export function maxUnavailable(deployment: Deployment): number {
  const replicas = replicasOf(deployment);
  if (!isRolling(deployment) || replicas === 0) return 0;
  const most = scaledValue(deployment.spec.strategy?.rollingUpdate?.maxUnavailable ?? 0, replicas, Math.floor);
  // Where neither more nor fewer pods may be, nothing could ever change.
  return Math.min(replicas, most === 0 && maxSurge(deployment) === 0 ? 1 : most);
}

/** How many pods the newest ReplicaSet may have now. */
export function newReplicas(deployment: Deployment, all: readonly SizedSet[], present: number): number {
  const replicas = replicasOf(deployment);
  if (!isRolling(deployment)) return replicas;
  const room = replicas + maxSurge(deployment) - specReplicas(all);
  return room <= 0 ? present : present + Math.min(room, replicas - present);
}

const annotatedNumber = ({ metadata }: KubeObject, name: string): number | undefined => {
  const text = metadata.annotations?.[name] ?? "";
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
};
export const desiredReplicas = (set: SizedSet): number | undefined => annotatedNumber(set, DESIRED_REPLICAS);

/** Its part of `toAdd` (negative: to remove), of which the others have `added` already. */
export function proportionOf(deployment: Deployment, set: SizedSet, toAdd: number, added: number): number {
  const size = replicasOf(set);
  if (size === 0 || toAdd === 0 || toAdd === added) return 0;
  const fraction = fractionOf(deployment, set, size);
  return toAdd > 0 ? Math.min(fraction, toAdd - added) : Math.max(fraction, toAdd - added);
}

function fractionOf(deployment: Deployment, set: SizedSet, size: number): number {
  if (replicasOf(deployment) === 0) return -size;
  const before = annotatedNumber(set, MAX_REPLICAS) || (deployment.status?.replicas ?? 0);
  if (before === 0) return 0;
  return Math.round((size * (replicasOf(deployment) + maxSurge(deployment))) / before) - size;
}

export const isSaturated = (deployment: Deployment, set: SizedSet | undefined): boolean => {
  const replicas = replicasOf(deployment);
  return (
    set !== undefined &&
    replicasOf(set) === replicas &&
    desiredReplicas(set) === replicas &&
    (set.status?.availableReplicas ?? 0) === replicas
  );
};

export const isComplete = (deployment: Deployment, status: DeploymentStatus = {}): boolean => {
  const replicas = replicasOf(deployment);
  return (
    [status.updatedReplicas, status.replicas, status.availableReplicas].every((count) => (count ?? 0) === replicas) &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
};

function withoutHash(template: PodTemplate): JsonObject {
  const { [HASH_LABEL]: _, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

const templateDigest = (template: PodTemplate): string => digestOf(withoutHash(template));

/** Another one than upstream's, which hashes the memory of Go's structs: it differs between releases there. */
export const templateHash = (template: PodTemplate, collisionCount = 0): string =>
  derivedSuffix(JSON.stringify([inOrder(template), collisionCount]), HASH_LENGTH);

/** 0 where it has none that is a number. */
export const revisionOf = ({ metadata }: KubeObject): bigint =>
  parseRevision(metadata.annotations?.[REVISION] ?? "") ?? 0n;

const createdAt = ({ metadata }: KubeObject): string => metadata.creationTimestamp ?? "";
const nameOf = ({ metadata }: KubeObject): string => metadata.name ?? "";
const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
export const oldestFirst = (a: SizedSet, b: SizedSet): number =>
  compare(createdAt(a), createdAt(b)) || compare(nameOf(a), nameOf(b));

/** The ReplicaSet that has the template of the Deployment. */
export function findNewSet(deployment: Deployment, sets: readonly OwnedSet[]): OwnedSet | undefined {
  const digest = templateDigest(deployment.spec.template);
  const same = sets.toSorted(oldestFirst).find((set) => set.templateDigest === digest);
  if (same !== undefined) return same;
  // Admission may have changed the template of the one that was made of it: making another, and another, would never end.
  const name = newSetName(deployment);
  return sets.find((set) => set.metadata.name === name);
}

const KEPT_ANNOTATIONS = [REVISION, DESIRED_REPLICAS, MAX_REPLICAS];
/** Characters kept of a text that a client may have made as long as an object may be. */
const MOST_KEPT_LENGTH = 4_096;

const isShort = (text: string | undefined): text is string => text !== undefined && text.length <= MOST_KEPT_LENGTH;

/** Reduces a ReplicaSet to the members that a rollout looks at. */
export function summaryOfSet({ apiVersion, kind, metadata, spec, status = {} }: ReplicaSet): OwnedSet {
  const { name = "", namespace = "", uid = "", generation, creationTimestamp, deletionTimestamp } = metadata;
  const annotations = KEPT_ANNOTATIONS.flatMap((key) => {
    const text = metadata.annotations?.[key];
    return isShort(text) ? [[key, text] as const] : [];
  });
  const failure = conditionOf(status.conditions, FAILURE);
  const { conditions: _, ...counts } = status;
  return {
    apiVersion,
    kind,
    metadata: {
      ...{ name, namespace, uid, annotations: Object.fromEntries(annotations) },
      ...(generation === undefined ? {} : { generation }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    spec: {
      ...(spec.replicas === undefined ? {} : { replicas: spec.replicas }),
      ...(spec.minReadySeconds === undefined ? {} : { minReadySeconds: spec.minReadySeconds }),
    },
    status: {
      ...counts,
      conditions:
        failure === undefined ? [] : [{ ...failure, message: isShort(failure.message) ? failure.message : "" }],
    },
    templateDigest: templateDigest(spec.template),
  };
}

const MAX_NAME_LENGTH = 253;

export function newSetName({ metadata, spec, status }: Deployment): string {
  const hash = templateHash(spec.template, status?.collisionCount);
  return `${(metadata.name ?? "").slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}-${hash}`;
}

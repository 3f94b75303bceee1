// Creates, scales, annotates and deletes the ReplicaSets of a Deployment.
// Source: k8s.io/kubernetes/pkg/controller/deployment/sync.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  deleteControlled,
  ignoringConflicts,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { LAST_APPLIED_ANNOTATION } from "@postern/structured-merge/managedfields/last-applied";
import { createOwned, refusal } from "../pod-control.ts";
import { readStored } from "../read-stored.ts";
import type { ReplicaSet } from "../replica-set-controller.ts";
import { compareRevisions, parseRevision, revisionAfter } from "../revision-number.ts";
import { controllerReference, type Says, type WorkloadPort } from "../workload-port.ts";
import {
  DESIRED_REPLICAS,
  type Deployment,
  findNewSet,
  HASH_LABEL,
  MAX_REPLICAS,
  maxSurge,
  newReplicas,
  newSetName,
  type OwnedSet,
  REVISION,
  REVISION_HISTORY,
  replicasOf,
  revisionOf,
  type SizedSet,
  templateHash,
} from "./deployment.ts";

const MAX_HISTORY_LENGTH = 2_000;
const NOT_COPIED = new Set([
  LAST_APPLIED_ANNOTATION,
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  "deprecated.deployment.rollback.to",
]);

type Annotations = { readonly [name: string]: string };

/** The annotations of a ReplicaSet with the newest template: those of the Deployment, and the newest revision. */
export function newSetAnnotations(deployment: Deployment, known: Annotations, revision: bigint): Annotations {
  const copied = Object.entries(deployment.metadata.annotations ?? {}).filter(([name]) => !NOT_COPIED.has(name));
  const annotations = { ...known, ...Object.fromEntries(copied) };
  const before = parseRevision(known[REVISION] || "0");
  if (before === undefined || before >= revision) return annotations;
  return { ...annotations, [REVISION]: String(revision), ...historyWith(known, known[REVISION]) };
}

/** A revision that comes back remembers which it was. */
function historyWith(known: Annotations, before: string | undefined): Annotations {
  if (before === undefined) return {};
  const revisions = [...(known[REVISION_HISTORY] ?? "").split(","), before].filter((text) => text !== "");
  while (revisions.join(",").length > MAX_HISTORY_LENGTH) revisions.shift();
  return { [REVISION_HISTORY]: revisions.join(",") };
}

const scaleAnnotations = (deployment: Deployment): Annotations => ({
  [DESIRED_REPLICAS]: String(replicasOf(deployment)),
  [MAX_REPLICAS]: String(replicasOf(deployment) + maxSurge(deployment)),
});

/** As Go writes it: a 0 is left out. */
function withMinReady({ minReadySeconds: _, ...spec }: ReplicaSet["spec"], seconds: number): ReplicaSet["spec"] {
  return seconds === 0 ? spec : { ...spec, minReadySeconds: seconds };
}

const hasAll = (known: Annotations, wanted: Annotations): boolean =>
  Object.entries(wanted).every(([name, value]) => known[name] === value);

export type NewSet =
  | { readonly set: SizedSet; readonly isCreated: boolean }
  /** Why there is none. */
  | { readonly refused: string; readonly name: string }
  /** Another owner has an object of its name: the next name needs another count. */
  | { readonly collisionCount: number };

export type DeploymentSets = {
  /** The new ReplicaSet with the annotations that it should have; creates it if it is missing. */
  ensureNew(deployment: Deployment, sets: readonly OwnedSet[], signal: AbortSignal): Promise<NewSet>;
  /** Gives an existing new ReplicaSet the annotations that it should have. True if it had others. */
  annotate(deployment: Deployment, set: SizedSet, old: readonly SizedSet[], signal: AbortSignal): Promise<boolean>;
  /** True if the number of pods changes. */
  scale(deployment: Deployment, set: SizedSet, replicas: number, signal: AbortSignal): Promise<boolean>;
  /** Deletes those that the history has no room for. */
  cleanUp(deployment: Deployment, old: readonly SizedSet[], signal: AbortSignal): Promise<void>;
};

export function createDeploymentSets(port: WorkloadPort, resource: InstalledResource, says: Says): DeploymentSets {
  const nextRevision = (old: readonly SizedSet[]): bigint =>
    revisionAfter([0n, ...old.map(revisionOf)].sort(compareRevisions).at(-1) ?? 0n);
  const stored = ({ metadata: { namespace = "", name = "" } }: Pick<KubeObject, "metadata">): ReplicaSet | undefined =>
    readStored(port, resource, resource.keys.of(namespace, name));

  async function update(set: SizedSet, change: (set: ReplicaSet) => ReplicaSet, signal: AbortSignal): Promise<void> {
    // Stored objects have passed the schema of their kind.
    const transform = (current: KubeObject): KubeObject => change(current as ReplicaSet);
    await ignoringConflicts(() => updateControlled(port, resource, set, { transform }, signal));
  }

  async function create(deployment: Deployment, sets: readonly SizedSet[], signal: AbortSignal): Promise<NewSet> {
    const { metadata, spec, status } = deployment;
    const hash = templateHash(spec.template, status?.collisionCount);
    const labels = { ...spec.template.metadata?.labels, [HASH_LABEL]: hash };
    const name = newSetName(deployment);
    const { namespace = "" } = metadata;
    const replicas = newReplicas(deployment, sets, 0);
    const selector = spec.selector ?? {};
    const object = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        name,
        namespace,
        labels,
        annotations: {
          ...newSetAnnotations(deployment, {}, nextRevision(sets)),
          ...scaleAnnotations(deployment),
        },
        ownerReferences: [controllerReference(deployment)],
      },
      spec: {
        replicas,
        ...(spec.minReadySeconds === undefined ? {} : { minReadySeconds: spec.minReadySeconds }),
        selector: { ...selector, matchLabels: { ...(selector["matchLabels"] as JsonObject), [HASH_LABEL]: hash } },
        template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
      },
    } as ReplicaSet;
    try {
      await createOwned(port, resource, object, signal);
    } catch (error) {
      if (isApiError(error, "AlreadyExists")) {
        const existing = stored(object);
        const isOurs = existing?.metadata.ownerReferences?.some(
          ({ controller, uid }) => controller === true && uid === metadata.uid,
        );
        if (existing !== undefined && isOurs === true) return { set: existing, isCreated: false };
        return { collisionCount: (status?.collisionCount ?? 0) + 1 };
      }
      return { refused: refusal(error).message, name };
    }
    if (replicas > 0)
      says(deployment, "Normal", "ScalingReplicaSet", `Scaled up replica set ${name} from 0 to ${replicas}`);
    return { set: stored(object) ?? object, isCreated: true };
  }

  return {
    async ensureNew(deployment, sets, signal) {
      const existing = findNewSet(deployment, sets);
      return existing === undefined ? await create(deployment, sets, signal) : { set: existing, isCreated: false };
    },
    async annotate(deployment, set, old, signal) {
      const known = (stored(set) ?? set).metadata.annotations ?? {};
      const annotations = newSetAnnotations(deployment, known, nextRevision(old));
      const minReadySeconds = deployment.spec.minReadySeconds ?? 0;
      if (hasAll(known, annotations) && (set.spec.minReadySeconds ?? 0) === minReadySeconds) return false;
      await update(
        set,
        (current) => ({
          ...current,
          metadata: { ...current.metadata, annotations: { ...current.metadata.annotations, ...annotations } },
          spec: withMinReady(current.spec, minReadySeconds),
        }),
        signal,
      );
      return true;
    },
    async scale(deployment, set, replicas, signal) {
      const annotations = scaleAnnotations(deployment);
      const before = replicasOf(set);
      if (before === replicas && hasAll(set.metadata.annotations ?? {}, annotations)) return false;
      await update(
        set,
        (current) => ({
          ...current,
          metadata: { ...current.metadata, annotations: { ...current.metadata.annotations, ...annotations } },
          spec: { ...current.spec, replicas },
        }),
        signal,
      );
      if (before === replicas) return false;
      const way = before < replicas ? "up" : "down";
      const text = `Scaled ${way} replica set ${set.metadata.name} from ${before} to ${replicas}`;
      says(deployment, "Normal", "ScalingReplicaSet", text);
      return true;
    },
    async cleanUp({ spec }, old, signal) {
      const alive = old
        .filter((set) => !isBeingDeleted(set))
        .toSorted((a, b) => compareRevisions(revisionOf(a), revisionOf(b)));
      const surplus = Math.max(0, alive.length - (spec.revisionHistoryLimit ?? 10));
      for (const set of alive.slice(0, surplus)) {
        const { metadata, status } = set;
        const isSeen = (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0);
        if ((status?.replicas ?? 0) !== 0 || replicasOf(set) !== 0 || !isSeen) continue;
        const terms = { propagationPolicy: "Background" } as const;
        await ignoringConflicts(() => deleteControlled(port, resource, set, signal, terms));
      }
    },
  };
}

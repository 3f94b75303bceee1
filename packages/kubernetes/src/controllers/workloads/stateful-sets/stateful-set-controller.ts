// StatefulSets: keep pods with numbers, one after the other.
// Source: k8s.io/kubernetes/pkg/controller/statefulset/{stateful_set_control,stateful_pod_control}.go

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { ignoringConflicts, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { PodTemplate } from "../../../builtin/workloads/pods/pod-fields.ts";
import { createClaims } from "../claims.ts";
import { createCreationBackoff } from "../creation-backoff.ts";
import { followOwners, type OwnedObjects } from "../owned-objects.ts";
import { createOwned, createPods, deletePods, MOST_AT_ONCE, refusal } from "../pod-control.ts";
import { availableIn, type PodState, podStateOf, podStatesOf } from "../pod-state.ts";
import { readStored } from "../read-stored.ts";
import { createRevisions, type Revision } from "../revisions.ts";
import { actingAs, eventsBy, retryLater, type Says, type WorkloadPort } from "../workload-port.ts";
import { statusMembers, writeStatus } from "../write-status.ts";
import { isOfEarlierPod, withWantedOwners } from "./claim-owners.ts";
import {
  claimNamesOf,
  claimsOf,
  firstOrdinal,
  isAvailable,
  isOrdered,
  mostUnavailable,
  ordinalOf,
  revisionNameOf,
  type StatefulSet,
  statefulPod,
} from "./stateful-set.ts";

/** Until a claim may be gone whose pod is. */
const STALE_CLAIM_MS = 1_000;

type CachedClaim = Pick<KubeObject, "metadata">;

const readClaim = createMemberReader({ metadata: { name: true, namespace: true, uid: true, ownerReferences: true } });

const HASH_LABEL = "controller.kubernetes.io/hash";

type Versions = { readonly current: Revision; readonly update: Revision; readonly known: readonly Revision[] };

export function createStatefulSetController(base: WorkloadPort, ownedRevisions: OwnedObjects): Controller {
  const port = actingAs(base, "statefulset-controller");
  const { clock, scheduler } = port.runtime;
  const sets = port.resource("apps", "StatefulSet");
  const volumeClaims = port.resource("", "PersistentVolumeClaim");
  const says = eventsBy(port.recorder("statefulset-controller"));
  const revisions = createRevisions(port, ownedRevisions, HASH_LABEL);
  const backoff = createCreationBackoff(clock);
  const queue = new WorkQueue(port, { name: "statefulset", process });
  const pause = createTurns(clock);
  const claims = createClaims(port, {
    name: "statefulset_claims",
    owners: sets,
    dependents: port.pods,
    onClaimed: podStateOf,
    onOwner: (key) => queue.add(key),
  });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    await port.pods.scanned();
    await ownedRevisions.scanned();
    const busy = port.looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    const set = readStored<StatefulSet>(port, sets, key);
    if (set === undefined) return;
    const pods = await podStatesOf(await claims.claim(set, signal), pause);
    const { uid = "", generation = 0 } = set.metadata;
    const delay = backoff.delayMs(uid, generation);
    try {
      const versions = await versionsOf(set, signal);
      if (!isBeingDeleted(set) && delay === 0) await scale(key, set, pods, versions, signal);
      if (signal.aborted) return;
      backoff.succeeded(uid);
      await record(key, set, versions, signal);
    } catch (error) {
      const { message } = refusal(error);
      says(set, "Warning", "FailedCreate", message);
      backoff.failed(uid, generation);
      retryLater(queue, key, backoff.delayMs(uid, generation));
    }
    if (delay > 0) retryLater(queue, key, delay);
  }

  async function versionsOf(set: StatefulSet, signal: AbortSignal): Promise<Versions> {
    const known = await revisions.of(set);
    const update = isBeingDeleted(set)
      ? (known.at(-1) ?? { apiVersion: "", kind: "", metadata: {}, revision: 0n, digest: "" })
      : await revisions.ensure(set, set.spec.template, known, signal);
    const current = known.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
    return { current, update, known };
  }

  /** One step: pods in the order of their numbers, then those beyond the last, then those of an old revision. */
  async function scale(
    key: string,
    set: StatefulSet,
    pods: readonly PodState[],
    versions: Versions,
    signal: AbortSignal,
  ): Promise<void> {
    const first = firstOrdinal(set);
    const end = first + (set.spec.replicas ?? 1);
    const byOrdinal = new Map<number, PodState>();
    for (const pod of pods) {
      const ordinal = ordinalOf(pod, set);
      if (ordinal !== undefined) byOrdinal.set(ordinal, pod);
    }
    const now = clock.now();
    const missing: number[] = [];
    const ended: PodState[] = [];
    /** For the pod whose turn it is: those behind it come later. */
    let isWaiting = false;
    for (let ordinal = first; ordinal < end && missing.length < MOST_AT_ONCE; ordinal++) {
      port.looks.spend(1);
      await pause();
      const pod = byOrdinal.get(ordinal);
      if (pod === undefined) missing.push(ordinal);
      else if (isEnded(pod)) {
        if (!pod.isDeleted) ended.push(pod);
      } else if (isAvailable(pod, set, now) || !isOrdered(set)) {
        await ownClaims(set, pod, false, signal);
        continue;
      }
      isWaiting = isOrdered(set);
      if (isWaiting) break;
    }
    await remove(key, set, ended, signal);
    if (missing.length > 0) return create(key, set, missing, versions, signal);
    if (isWaiting || ended.length > 0) return;
    const condemned = [...byOrdinal]
      .filter(([ordinal]) => ordinal < first || ordinal >= end)
      .toSorted(([a], [b]) => b - a)
      .map(([, pod]) => pod);
    if (condemned.length > 0) {
      for (const pod of condemned) await ownClaims(set, pod, true, signal);
      const [last] = condemned;
      const going = condemned.some(({ isDeleted }) => isDeleted);
      const next = isOrdered(set)
        ? going || last === undefined
          ? []
          : [last]
        : condemned.filter((pod) => !pod.isDeleted);
      await remove(key, set, next, signal);
      if (isOrdered(set)) return;
    }
    await update(key, set, byOrdinal, versions, signal);
  }

  async function create(
    key: string,
    set: StatefulSet,
    allOrdinals: readonly number[],
    { current, update }: Versions,
    signal: AbortSignal,
  ): Promise<void> {
    const name = set.metadata.name ?? "";
    const ordinals = allOrdinals.filter((ordinal) => {
      const pod = `${name}-${ordinal}`;
      return !storedClaims(set, pod).some((claim) => isOfEarlierPod(claim, set, pod));
    });
    if (ordinals.length < allOrdinals.length) retryLater(queue, key, STALE_CLAIM_MS);
    if (ordinals.length === 0) return;
    const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
    const kept = type === "OnDelete" ? 0 : (rollingUpdate?.partition ?? 0);
    const old = kept > 0 ? revisions.templateOf(current) : undefined;
    for (const ordinal of ordinals) await createVolumeClaims(set, `${name}-${ordinal}`, signal);
    const podAt = (at: number) => {
      const ordinal = ordinals[at] ?? 0;
      const isOld = ordinal < firstOrdinal(set) + kept && old !== undefined;
      const template: PodTemplate = isOld ? old : set.spec.template;
      return statefulPod(set, template, (isOld ? current : update).metadata.name ?? "", ordinal);
    };
    const made = await createPods(port, set, ordinals.length, podAt, sayOf(set), signal);
    if (made.error !== undefined) throw made.error;
    if (made.count < ordinals.length || !isOrdered(set)) retryLater(queue, key, port.writes.turnMs());
  }

  async function createVolumeClaims(set: StatefulSet, pod: string, signal: AbortSignal): Promise<void> {
    for (const claim of claimsOf(set, pod)) {
      const { namespace = "", name = "" } = claim.metadata;
      if (volumeClaims.view.get(volumeClaims.keys.of(namespace, name)) !== undefined) continue;
      try {
        await createOwned(port, volumeClaims, claim, signal);
      } catch (error) {
        if (isApiError(error, "AlreadyExists")) continue;
        throw error;
      }
      const message = `Create Claim ${name} Pod ${pod} in StatefulSet ${set.metadata.name} success`;
      says(set, "Normal", "SuccessfulCreate", message);
    }
  }

  const storedClaims = (set: StatefulSet, pod: string): readonly CachedClaim[] =>
    claimNamesOf(set, pod).flatMap((name) => {
      const claim = volumeClaims.view.get(volumeClaims.keys.of(set.metadata.namespace ?? "", name));
      // Stored objects have passed the schema of their kind.
      return claim === undefined ? [] : [claim.read(readClaim) as CachedClaim];
    });

  /** Claims go with the set, or with a pod that the set has no more, as it says. */
  async function ownClaims(set: StatefulSet, pod: PodState, isCondemned: boolean, signal: AbortSignal): Promise<void> {
    const claiming = { name: pod.name, uid: pod.uid, isCondemned };
    for (const claim of storedClaims(set, pod.name)) {
      port.looks.spend(1);
      if (withWantedOwners(claim, set, claiming) === claim) continue;
      const transform = (current: KubeObject): KubeObject => withWantedOwners(current, set, claiming);
      await ignoringConflicts(() => updateControlled(port, volumeClaims, claim, { transform }, signal));
    }
  }

  async function remove(key: string, set: StatefulSet, pods: readonly PodState[], signal: AbortSignal): Promise<void> {
    if (pods.length === 0) return;
    const deleted = await deletePods(port, set, pods, sayOf(set), signal);
    if (deleted < pods.length) retryLater(queue, key, port.writes.turnMs());
  }

  /** Pods of another revision go, the last first, as many at a time as may be unavailable. */
  async function update(
    key: string,
    set: StatefulSet,
    byOrdinal: ReadonlyMap<number, PodState>,
    versions: Versions,
    signal: AbortSignal,
  ): Promise<void> {
    const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
    if (type === "OnDelete") return;
    const first = firstOrdinal(set) + (rollingUpdate?.partition ?? 0);
    const name = versions.update.metadata.name ?? "";
    const now = clock.now();
    let room = mostUnavailable(set);
    const old: PodState[] = [];
    for (const [ordinal, pod] of [...byOrdinal].toSorted(([a], [b]) => b - a)) {
      if (ordinal < first || ordinal >= firstOrdinal(set) + (set.spec.replicas ?? 1)) continue;
      if (revisionNameOf(pod) !== name && !pod.isDeleted) old.push(pod);
      else if (!isAvailable(pod, set, now)) room--;
    }
    await remove(key, set, old.slice(0, Math.max(0, room)), signal);
  }

  /** Events of pods have other texts here than those of other owners. */
  const sayOf =
    ({ metadata }: StatefulSet): Says =>
    (object, type, reason, message) => {
      const name = /: (\S+)$/.exec(message)?.[1] ?? "";
      const verb = reason === "SuccessfulDelete" ? "Delete" : "Create";
      const text = type === "Normal" ? `${verb} Pod ${name} in StatefulSet ${metadata.name} successful` : message;
      says(object, type, reason, text);
    };

  async function record(key: string, set: StatefulSet, versions: Versions, signal: AbortSignal): Promise<void> {
    // Memory has the pods that have just been written.
    const pods = await podStatesOf(port.pods.of(set.metadata.uid ?? ""), pause);
    port.looks.spend(pods.length);
    const now = clock.now();
    const { spec, status = {}, metadata } = set;
    const present = pods.filter(({ isDeleted }) => !isDeleted);
    const ready = present.filter(({ phase, readyAt }) => phase === "Running" && readyAt !== undefined);
    const count = (revision: Revision) =>
      present.filter((pod) => revisionNameOf(pod) === revision.metadata.name).length;
    const replicas = pods.length;
    const updated = count(versions.update);
    const isRolling = spec.updateStrategy?.type !== "OnDelete";
    const isDone = isRolling && updated === replicas && ready.length === replicas && replicas === (spec.replicas ?? 1);
    const current = isDone ? versions.update : versions.current;
    const next = statusMembers(
      {
        observedGeneration: metadata.generation ?? 0,
        replicas,
        readyReplicas: ready.length,
        availableReplicas: present.filter((pod) => isAvailable(pod, set, now)).length,
        currentReplicas: isDone ? updated : count(current),
        updatedReplicas: updated,
        currentRevision: current.metadata.name ?? "",
        updateRevision: versions.update.metadata.name ?? "",
        collisionCount: status.collisionCount ?? 0,
        conditions: status.conditions ?? [],
      },
      ["replicas", "availableReplicas", "collisionCount"],
    );
    await writeStatus(port, sets, set, next, signal);
    const inUse = new Set([
      ...pods.map(revisionNameOf),
      current.metadata.name ?? "",
      versions.update.metadata.name ?? "",
    ]);
    if (!isBeingDeleted(set)) await revisions.cleanUp(versions.known, inUse, spec.revisionHistoryLimit ?? 10, signal);
    const waits = ready.map((pod) => availableIn(pod, spec.minReadySeconds ?? 0, now) ?? 0).filter((wait) => wait > 0);
    if (waits.length > 0)
      retryLater(
        queue,
        key,
        waits.reduce((least, wait) => Math.min(least, wait)),
      );
  }

  const observing = followOwners(port.pods, "StatefulSet", sets, (key) => queue.add(key));
  const following = followKeys(sets, scheduler, (key) => queue.add(key));
  return createQueueController(filledQueue(claims, queue), [observing, following]);
}

const isEnded = ({ phase }: PodState): boolean => phase === "Failed" || phase === "Succeeded";

// Binds PersistentVolumeClaims to PersistentVolumes that there are. Nothing provides or deletes storage: a claim of a class waits for the volume that its
// provisioner creates, and volumes without a claim stay.
// Source: k8s.io/kubernetes/pkg/controller/volume/persistentvolume/pv_controller.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { conflictError, STALE_RESOURCE_VERSION } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { ignoringConflicts, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { createScans } from "@postern/apiserver/controllers/scans";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { groupResourceOf } from "@postern/apiserver/registry/resource-definition";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { createTurns, inSlices } from "@postern/apiserver/runtime/in-slices";
import { createSummaries, readStored } from "../read-stored.ts";
import { actingAs, eventsBy, retryLater, type WorkloadPort } from "../workload-port.ts";
import {
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  bestVolume,
  type Claim,
  classOf,
  hasAnnotation,
  isBoundTo,
  isSameMode,
  mismatchOf,
  summaryOf,
  type Volume,
} from "./volume-match.ts";

/** Claims that wait look again so long after volumes have changed: all of them at once for many changes. */
const LOOK_AGAIN_MS = 500;
const MISBOUND = "Two claims are bound to the same volume, this one is bound incorrectly";
const SELECTED_NODE = "volume.kubernetes.io/selected-node";
const PROVISIONERS = ["volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner"];

type StorageClass = KubeObject & { readonly provisioner?: string; readonly volumeBindingMode?: string };

export function createVolumeBinder(base: WorkloadPort): Controller {
  const port = actingAs(base, "persistent-volume-binder");
  const { scheduler, clock } = port.runtime;
  const volumes = port.resource("", "PersistentVolume");
  const claims = port.resource("", "PersistentVolumeClaim");
  const classes = port.resource("storage.k8s.io", "StorageClass");
  const says = eventsBy(port.recorder("persistentvolume-controller"));
  const summaries = createSummaries<Volume, ReturnType<typeof summaryOf>>(port, summaryOf);
  // One after the other: a volume is for one claim.
  const queue = new WorkQueue(port, { name: "volume_binder", process, concurrency: 1 });
  const scans = createScans();
  const pause = createTurns(clock);
  /** Versions of claims that an Event has been recorded for: those that wait look again and again. */
  const said = new WeakSet<CachedObject>();
  let timer: Disposable | undefined;

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const busy = port.looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    if (key.startsWith(claims.keys.prefix)) {
      const claim = readStored<Claim>(port, claims, key);
      if (claim !== undefined) await syncClaim(key, claim, signal);
      return;
    }
    const volume = readStored<Volume>(port, volumes, key);
    if (volume !== undefined) await ignoringConflicts(() => syncVolume(volume, signal));
  }

  const volumeNamed = (name: string): Volume | undefined =>
    readStored<Volume>(port, volumes, volumes.keys.of("", name));

  async function syncClaim(key: string, claim: Claim, signal: AbortSignal): Promise<void> {
    const { volumeName = "" } = claim.spec;
    const isBound = hasAnnotation(claim, BIND_COMPLETED);
    if (volumeName === "") {
      if (isBound)
        return lose(
          claim,
          "ClaimLost",
          "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
          signal,
        );
      return findVolume(key, claim, signal);
    }
    const volume = volumeNamed(volumeName);
    if (volume === undefined) {
      if (isBound)
        await lose(
          claim,
          "ClaimLost",
          "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
          signal,
        );
      return;
    }
    if (isBoundTo(volume, claim)) return bind(volume, claim, signal);
    if (volume.spec.claimRef !== undefined) {
      if (isBound) return lose(claim, "ClaimMisbound", MISBOUND, signal);
      return say(key, claim, "Warning", "FailedBinding", `volume "${volumeName}" already bound to a different claim.`);
    }
    const mismatch = isBound ? undefined : mismatchOf(volume, claim);
    if (mismatch === undefined) return bind(volume, claim, signal);
    say(key, claim, "Warning", "VolumeMismatch", `Cannot bind to requested volume "${volumeName}": ${mismatch}`);
  }

  /** For a claim that names no volume. */
  async function findVolume(key: string, claim: Claim, signal: AbortSignal): Promise<void> {
    const name = classOf(claim);
    const found = name === "" ? undefined : readStored<StorageClass>(port, classes, classes.keys.of("", name));
    const isScheduled = hasAnnotation(claim, SELECTED_NODE);
    const waits = found?.volumeBindingMode === "WaitForFirstConsumer" && !isScheduled;
    const objects = volumes.view.list(volumes.keys.prefix);
    const { selector: labelSelector } = claim.spec;
    // An expression without its key or operator has been refused.
    const selector = labelSelector === undefined ? undefined : selectorFromLabelSelector(labelSelector as never);
    const isSelected = (index: number): boolean => {
      if (selector === undefined) return true;
      port.looks.spend(labelSelector?.matchExpressions?.length ?? 0);
      return selector.matches(objects[index]?.labels ?? {});
    };
    const best = await bestVolume(claim, await summaries(objects), { waits, isSelected, pause });
    if (signal.aborted) return;
    const volume = best === undefined ? undefined : volumeNamed(best.name);
    if (volume !== undefined) return bind(volume, claim, signal);
    if (waits) {
      const message = "waiting for first consumer to be created before binding";
      return say(key, claim, "Normal", "WaitForFirstConsumer", message);
    }
    if (name === "") {
      const message = "no persistent volumes available for this claim and no storage class is set";
      return say(key, claim, "Normal", "FailedBinding", message);
    }
    if (found === undefined) {
      const message = `storageclass.storage.k8s.io "${name}" not found`;
      return say(key, claim, "Warning", "ProvisioningFailed", message);
    }
    await askProvisioner(key, claim, found.provisioner ?? "", signal);
  }

  /** By annotations: provisioners follow them. */
  async function askProvisioner(key: string, claim: Claim, provisioner: string, signal: AbortSignal): Promise<void> {
    if (PROVISIONERS.some((name) => claim.metadata.annotations?.[name] !== provisioner)) {
      const asked = Object.fromEntries(PROVISIONERS.map((name) => [name, provisioner]));
      const transform = (current: KubeObject): KubeObject => annotated(current, asked);
      await ignoringConflicts(() => updateControlled(port, claims, claim, { transform }, signal));
      return;
    }
    say(
      key,
      claim,
      "Normal",
      "ExternalProvisioning",
      `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`,
    );
  }

  function say(key: string, claim: Claim, type: "Normal" | "Warning", reason: string, message: string): void {
    const object = claims.view.get(key);
    if (object === undefined || said.has(object)) return;
    said.add(object);
    says(claim, type, reason, message);
  }

  async function lose(claim: Claim, reason: string, message: string, signal: AbortSignal): Promise<void> {
    if (claim.status?.phase === "Lost") return;
    await ignoringConflicts(() => writeClaimStatus(claim, { phase: "Lost" }, signal));
    says(claim, "Warning", reason, message);
  }

  /** First the volume, then the claim: the next run goes on where this one ends. */
  const bind = (volume: Volume, claim: Claim, signal: AbortSignal): Promise<void> =>
    ignoringConflicts(async () => {
      await bindVolume(volume, claim, signal);
      await writePhase(volume, "Bound", signal);
      await bindClaim(volume, claim, signal);
      if (claim.status?.phase === "Bound") return;
      const { accessModes = [], capacity = {}, volumeAttributesClassName } = volume.spec;
      const attributes =
        volumeAttributesClassName === undefined ? {} : { currentVolumeAttributesClassName: volumeAttributesClassName };
      await writeClaimStatus(claim, { phase: "Bound", accessModes, capacity, ...attributes }, signal);
    });

  async function bindVolume(volume: Volume, claim: Claim, signal: AbortSignal): Promise<void> {
    const { namespace = "", name = "", uid = "", resourceVersion = "" } = claim.metadata;
    if (volume.spec.claimRef?.uid === uid) return;
    const claimRef = { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name, uid, resourceVersion };
    const transform = (current: KubeObject): KubeObject => {
      // Stored objects have passed the schema of their kind, here and below.
      const { spec } = current as Volume;
      const isOwn = isBoundTo(current as Volume, claim);
      if (spec.claimRef !== undefined && !isOwn) throw changed(volumes, current);
      const bound = { ...current, spec: { ...spec, claimRef } } as KubeObject;
      return isOwn ? bound : annotated(bound, { [BOUND_BY_CONTROLLER]: "yes" });
    };
    await updateControlled(port, volumes, volume, { transform }, signal);
  }

  async function bindClaim(volume: Volume, claim: Claim, signal: AbortSignal): Promise<void> {
    const { name = "" } = volume.metadata;
    if (claim.spec.volumeName === name && hasAnnotation(claim, BIND_COMPLETED)) return;
    const transform = (current: KubeObject): KubeObject => {
      const { spec } = current as Claim;
      const { volumeName = "" } = spec;
      if (volumeName !== "" && volumeName !== name) throw changed(claims, current);
      const marks = { [BIND_COMPLETED]: "yes", ...(volumeName === "" ? { [BOUND_BY_CONTROLLER]: "yes" } : {}) };
      return annotated({ ...current, spec: { ...spec, volumeName: name } } as KubeObject, marks);
    };
    await updateControlled(port, claims, claim, { transform }, signal);
  }

  /** Without the members that only a bound claim has. */
  async function writeClaimStatus(claim: Claim, members: JsonObject, signal: AbortSignal): Promise<void> {
    const transform = (current: KubeObject): KubeObject => {
      const {
        accessModes: _,
        capacity: _c,
        currentVolumeAttributesClassName: _a,
        ...rest
      } = current["status"] as {
        readonly [name: string]: JsonObject;
      };
      return { ...current, status: { ...rest, ...members } } as KubeObject;
    };
    await updateControlled(port, claims, claim, { subresource: "status", transform }, signal);
  }

  async function writePhase(volume: Volume, phase: string, signal: AbortSignal): Promise<void> {
    if (volume.status?.phase === phase) return;
    const lastPhaseTransitionTime = formatTimestamp(clock.now());
    const transform = (current: KubeObject): KubeObject => ({
      ...current,
      status: { ...(current["status"] as JsonObject | undefined), phase, lastPhaseTransitionTime },
    });
    await updateControlled(port, volumes, volume, { subresource: "status", transform }, signal);
  }

  async function syncVolume(volume: Volume, signal: AbortSignal): Promise<void> {
    const { claimRef } = volume.spec;
    if (claimRef === undefined || (claimRef.uid ?? "") === "") {
      await writePhase(volume, "Available", signal);
      return;
    }
    const key = claims.keys.of(claimRef.namespace ?? "", claimRef.name ?? "");
    const claim = readStored<Claim>(port, claims, key);
    if (claim === undefined || claim.metadata.uid !== claimRef.uid) {
      if (volume.status?.phase !== "Failed") await writePhase(volume, "Released", signal);
      return;
    }
    const { volumeName = "" } = claim.spec;
    if (volumeName === volume.metadata.name) return writePhase(volume, "Bound", signal);
    if (volumeName !== "") return unbind(volume, signal);
    if (isSameMode(claim, volume)) return queue.add(key);
    const cannot = "due to incompatible volumeMode.";
    const [of, by] = [claim.metadata.name, volume.metadata.name];
    says(
      volume,
      "Warning",
      "VolumeMismatch",
      `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${of}" ${cannot}`,
    );
    says(
      claim,
      "Warning",
      "VolumeMismatch",
      `Cannot bind PersistentVolume "${by}" to requested PersistentVolumeClaim ${cannot}`,
    );
  }

  /** The claim has another volume. One that a client reserved for it stays reserved. */
  async function unbind(volume: Volume, signal: AbortSignal): Promise<void> {
    const transform = (current: KubeObject): KubeObject => {
      const { claimRef, ...spec } = (current as Volume).spec;
      const { [BOUND_BY_CONTROLLER]: mark, ...annotations } = current.metadata.annotations ?? {};
      const { uid: _, ...reserved } = claimRef ?? {};
      return {
        ...current,
        metadata: { ...current.metadata, annotations },
        spec: mark === undefined ? { ...spec, claimRef: reserved } : spec,
      } as KubeObject;
    };
    await updateControlled(port, volumes, volume, { transform }, signal);
    await writePhase(volume, "Available", signal);
  }

  /** A volume with a claim is no news for the others: else each claim that is bound would have all that wait look again. */
  function isTaken(key: string): boolean {
    const object = volumes.view.get(key);
    if (object === undefined || !object.has(CLAIMED)) return false;
    // One that is reserved has a claim without a uid, which may wait for it.
    const { claimRef } = (object.decode() as Volume).spec;
    return (claimRef?.uid ?? "") !== "";
  }

  /** Claims that wait may find a volume now, and volumes may have lost their claims. */
  function lookAgain(): void {
    timer ??= scheduler.schedule(LOOK_AGAIN_MS, () => {
      timer = undefined;
      const look = (mark: Buffer) => (object: CachedObject) => {
        if (object.has(mark)) queue.add(object.key);
      };
      scans.add(inSlices(claims.view.list(claims.keys.prefix), look(PENDING), scans.signal));
      scans.add(inSlices(volumes.view.list(volumes.keys.prefix), look(BOUND), scans.signal));
    });
  }

  const following = [
    followKeys(volumes, scheduler, (key) => {
      queue.add(key);
      if (!isTaken(key)) lookAgain();
    }),
    followKeys(claims, scheduler, (key) => {
      queue.add(key);
      if (claims.view.get(key) === undefined) lookAgain();
    }),
    followKeys(classes, scheduler, () => lookAgain()),
  ];
  const controller = createQueueController(filledQueue(scans, queue), following);
  return {
    idle: () => controller.idle(),
    [Symbol.dispose]() {
      timer?.[Symbol.dispose]();
      controller[Symbol.dispose]();
    },
  };
}

const PENDING = Buffer.from('"phase":"Pending"');
const BOUND = Buffer.from('"phase":"Bound"');
const CLAIMED = Buffer.from('"claimRef":');

const annotated = (object: KubeObject, annotations: { readonly [name: string]: string }): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } },
});

const changed = ({ definition }: InstalledResource, { metadata: { name = "" } }: KubeObject): Error =>
  conflictError(groupResourceOf(definition), name, STALE_RESOURCE_VERSION);

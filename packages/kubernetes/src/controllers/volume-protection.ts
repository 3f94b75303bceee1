// Lets go of deleted PersistentVolumes and claims when nothing uses them any more. The finalizers that hold them are added on create
// (`builtin/workloads/admission/volume-protection.ts`).
// Source: k8s.io/kubernetes/pkg/controller/volume/{pvcprotection,pvprotection}

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import { CLAIM_PROTECTION, VOLUME_PROTECTION } from "../builtin/workloads/admission/volume-protection.ts";
import { releaseFinalizer } from "./release-finalizer.ts";

export type VolumeProtectionDeps = {
  readonly volumes: InstalledResource;
  readonly claims: InstalledResource;
  readonly pods: InstalledResource;
};

/** Many pods that go at once are one look. */
const AFTER_PODS_MS = 500;

const readPod = createMemberReader({ metadata: { name: true }, spec: { nodeName: true, volumes: true } });
const readVolume = createMemberReader({ spec: { claimRef: true }, status: { phase: true } });

type PodMembers = {
  readonly metadata?: { readonly name?: string };
  readonly spec?: {
    readonly nodeName?: string;
    readonly volumes?: readonly {
      readonly name?: string;
      readonly persistentVolumeClaim?: { readonly claimName?: string };
      readonly ephemeral?: object;
    }[];
  };
};
type VolumeMembers = {
  readonly spec?: {
    readonly claimRef?: { readonly namespace?: string; readonly name?: string; readonly uid?: string };
  };
  readonly status?: { readonly phase?: string };
};

export function createVolumeProtection(
  port: ControllerPort,
  { volumes, claims, pods }: VolumeProtectionDeps,
): Controller {
  const { scheduler, clock } = port.runtime;
  const pause = createTurns(clock);
  /** Keys are those of volumes, and prefixes of claims in a namespace: its pods are looked through once for all of them. */
  const queue = new WorkQueue(port, { name: "volume_protection", process, concurrency: 1 });
  /** Namespaces with claims that wait for their pods. */
  const waiting = new Set<string>();

  async function process(key: string, signal: AbortSignal): Promise<void> {
    if (key.startsWith(volumes.keys.prefix)) return letVolumeGo(key, signal);
    const { namespace } = claims.keys.parse(key);
    await letClaimsGo(namespace, signal);
  }

  async function letVolumeGo(key: string, signal: AbortSignal): Promise<void> {
    const object = volumes.view.get(key);
    if (object === undefined || !isHeld(object, VOLUME_PROTECTION)) return;
    // Stored objects have passed the schema of their kind, here and below.
    const { spec, status } = object.read(readVolume) as JsonObject & VolumeMembers;
    const { namespace = "", name = "" } = spec?.claimRef ?? {};
    const isUsed = status?.phase === "Bound" && claims.view.get(claims.keys.of(namespace, name)) !== undefined;
    if (!isUsed) await releaseFinalizer(port, volumes, object, VOLUME_PROTECTION, signal);
  }

  async function letClaimsGo(namespace: string, signal: AbortSignal): Promise<void> {
    const held: CachedObject[] = [];
    for (const object of claims.view.list(claims.keys.inNamespace(namespace))) {
      await pause();
      if (isHeld(object, CLAIM_PROTECTION)) held.push(object);
    }
    if (held.length === 0) return void waiting.delete(namespace);
    waiting.add(namespace);
    const used = await usedClaims(namespace);
    for (const object of held) {
      await pause();
      if (signal.aborted) return;
      if (!used.has(object.key)) await releaseFinalizer(port, claims, object, CLAIM_PROTECTION, signal);
    }
  }

  /** Keys of the claims that pods with a node name; other pods are not started any more. */
  async function usedClaims(namespace: string): Promise<ReadonlySet<string>> {
    const used = new Set<string>();
    for (const object of pods.view.list(pods.keys.inNamespace(namespace))) {
      await pause();
      if (!object.has(NODE)) continue;
      const { metadata, spec } = object.read(readPod) as JsonObject & PodMembers;
      if ((spec?.nodeName ?? "") === "") continue;
      for (const { name, persistentVolumeClaim, ephemeral } of spec?.volumes ?? []) {
        const claim = persistentVolumeClaim?.claimName ?? (ephemeral === undefined ? "" : `${metadata?.name}-${name}`);
        if (claim !== "") used.add(claims.keys.of(namespace, claim));
      }
    }
    return used;
  }

  const isHeld = (object: CachedObject, finalizer: string): boolean => {
    if (!object.has(DELETED) || !object.has(Buffer.from(finalizer))) return false;
    const { metadata } = object.decode();
    return isBeingDeleted({ metadata }) && metadata.finalizers?.includes(finalizer) === true;
  };

  const following = [
    followKeys(volumes, scheduler, (key) => queue.add(key)),
    followKeys(claims, scheduler, (key) => {
      if (claims.view.get(key)?.has(DELETED) === true) queue.add(keyOf(claims.keys.parse(key).namespace));
    }),
    followKeys(pods, scheduler, (key) => {
      const { namespace } = pods.keys.parse(key);
      if (waiting.has(namespace)) queue.addAfter(keyOf(namespace), AFTER_PODS_MS);
    }),
  ];
  /** One for all claims of a namespace. */
  function keyOf(namespace: string): string {
    return claims.keys.of(namespace, "");
  }
  return createQueueController(queue, following);
}

const DELETED = Buffer.from('"deletionTimestamp"');
const NODE = Buffer.from('"nodeName"');

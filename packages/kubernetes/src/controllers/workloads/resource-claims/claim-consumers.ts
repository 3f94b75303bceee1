// Frees ResourceClaims whose consumers are done, and deletes those that were made for a pod that is done.
// Source: k8s.io/kubernetes/pkg/controller/resourceclaim/controller.go (syncClaim)

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  deleteControlled,
  ignoringConflicts,
  readControlled,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { ConsumerReference, ResourceClaim, ResourceClaimStatus } from "../../../builtin/devices/device-objects.ts";
import { withoutFinalizer } from "../../release-finalizer.ts";
import { readStored } from "../read-stored.ts";
import type { WorkloadPort } from "../workload-port.ts";
import { writeStatus } from "../write-status.ts";
import { podOf } from "./claiming-pods.ts";

/** The scheduler adds it with the allocation. */
const PROTECTION = "resource.kubernetes.io/delete-protection";

/** False after a conflict: the change of the other writer is looked at again. */
export const writeClaimStatus = async (
  port: WorkloadPort,
  claims: ControlledResource,
  claim: ResourceClaim,
  status: ResourceClaimStatus,
  signal: AbortSignal,
): Promise<boolean> =>
  // Objects are JSON; only their named types hide it.
  (await writeStatus(port, claims, claim, status as JsonObject, signal)) !== "conflict";

export type ClaimConsumers = {
  /** Looks at the consumers of the claim with this key. */
  process(key: string, signal: AbortSignal): Promise<void>;
};

export function createClaimConsumers(
  port: WorkloadPort,
  claims: InstalledResource,
  pods: InstalledResource,
): ClaimConsumers {
  async function process(key: string, signal: AbortSignal): Promise<void> {
    const claim = readStored<ResourceClaim>(port, claims, key);
    if (claim === undefined) return;
    const { allocation, reservedFor = [], ...rest } = claim.status ?? {};
    const { namespace = "" } = claim.metadata;
    const remaining: ConsumerReference[] = [];
    for (const consumer of reservedFor) if (await isKept(namespace, consumer, signal)) remaining.push(consumer);
    const isUnused = remaining.length === 0;
    const isProtected = claim.metadata.finalizers?.includes(PROTECTION) === true;
    const isFreed = isUnused && isProtected && (remaining.length < reservedFor.length || isBeingDeleted(claim));
    if (isFreed || remaining.length < reservedFor.length) {
      const status = {
        ...rest,
        ...(allocation === undefined || isFreed ? {} : { allocation }),
        ...(isUnused ? {} : { reservedFor: remaining }),
      };
      if (!(await writeClaimStatus(port, claims, claim, status, signal))) return;
      if (isProtected && status.allocation === undefined) await release(claim, signal);
    }
    if (isUnused) await deleteGenerated(claim, signal);
  }

  /** Consumers that are no pods are kept. */
  async function isKept(
    namespace: string,
    { apiGroup = "", resource, name = "", uid }: ConsumerReference,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (apiGroup !== "" || resource !== "pods") return true;
    port.looks.spend(1);
    const object = pods.view.get(pods.keys.of(namespace, name));
    // Memory may be behind the store.
    if (object === undefined) {
      const pod = await readControlled(port, pods, { metadata: { namespace, name } }, signal);
      return pod !== undefined && pod.metadata.uid === uid;
    }
    const pod = podOf(object);
    return pod.uid === uid && !pod.isDone;
  }

  /** Unless it has been allocated anew. */
  async function release(claim: ResourceClaim, signal: AbortSignal): Promise<void> {
    const transform = (current: KubeObject): KubeObject =>
      (current as ResourceClaim).status?.allocation === undefined
        ? { ...current, metadata: withoutFinalizer(current.metadata, PROTECTION) }
        : current;
    await ignoringConflicts(() => updateControlled(port, claims, claim, { transform }, signal));
  }

  /** A claim that was made for a pod goes when the pod is done, which may be long before it is deleted. */
  async function deleteGenerated(claim: ResourceClaim, signal: AbortSignal): Promise<void> {
    if (isBeingDeleted(claim)) return;
    const { namespace = "", ownerReferences = [] } = claim.metadata;
    const owner = ownerReferences.find(
      ({ controller, apiVersion, kind }) => controller === true && apiVersion === "v1" && kind === "Pod",
    );
    const object = owner && pods.view.get(pods.keys.of(namespace, owner.name));
    // The garbage collector ends those whose pod is gone.
    if (owner === undefined || object === undefined) return;
    const pod = podOf(object);
    if (pod.uid === owner.uid && !pod.isDone) return;
    port.writes.spend(1);
    try {
      await deleteControlled(port, claims, claim, signal);
    } catch (error) {
      if (!isApiError(error, "NotFound") && !isApiError(error, "Conflict")) throw error;
    }
  }

  return { process };
}

// Creates and deletes the pods of an owner, a few at a time.
// Source: k8s.io/kubernetes/pkg/controller/controller_utils.go (RealPodControl), replicaset/replica_set.go (slowStartBatch)

import { createHash } from "node:crypto";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { type ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject, type ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { NAME_ALPHABET } from "@postern/apimachinery/names/generate-name";
import { createControlled, deleteControlled, readControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { PodTemplate } from "../../builtin/workloads/pods/pod-fields.ts";
import type { PodState } from "./pod-state.ts";
import { controllerReference, type Says, type WorkloadPort } from "./workload-port.ts";

export type Made = {
  readonly count: number;
  /** The error of the first creation that was refused. */
  readonly error?: ApiError | undefined;
};

/** Pods of one owner that are created or deleted before the next owner has its turn. */
export const MOST_AT_ONCE = 100;
/** Pods that are written to the store at the same time. */
const TOGETHER = 4;
/** The longest part of a name before its generated suffix. */
export const MAX_BASE_LENGTH = 58;
/** The server itself is busy. */
const TEMPORARY: readonly number[] = [429, 503, 504];
/** Names that are tried where another object has one already. */
export const MOST_ATTEMPTS = 3;

/**
 * A suffix as generated names have it, made of `seed`: servers that work on the same state of an owner choose the same names, so that a pod that one of
 * them has created exists for the others.
 */
export function derivedSuffix(seed: string, length: number): string {
  let rest = createHash("sha256").update(seed).digest().readBigUInt64BE(0);
  let suffix = "";
  const letters = BigInt(NAME_ALPHABET.length);
  while (suffix.length < length) {
    suffix += NAME_ALPHABET.charAt(Number(rest % letters));
    rest /= letters;
  }
  return suffix;
}

/** The pod that this owner makes of its template, without a name. */
export function podFromTemplate(owner: KubeObject, template: PodTemplate): KubeObject {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const metadata: ObjectMeta = {
    generateName: `${owner.metadata.name}-`,
    namespace: owner.metadata.namespace ?? "",
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(finalizers === undefined ? {} : { finalizers }),
    ownerReferences: [controllerReference(owner)],
  };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: template.spec ?? {} };
}

/** The pod under the name that this owner gives to its pod `at`, such as its number, as of the present version of the owner; another one with each attempt. */
export function withDerivedName(owner: KubeObject, pod: KubeObject, at: number | string, attempt = 0): KubeObject {
  const { uid = "", resourceVersion = "" } = owner.metadata;
  const prefix = (pod.metadata.generateName ?? "").slice(0, MAX_BASE_LENGTH);
  const name = prefix + derivedSuffix(`${uid} ${resourceVersion} ${at} ${attempt}`, 5);
  return { ...pod, metadata: { ...pod.metadata, name } };
}

/** Creating so many bytes takes as long as creating an object that is small. */
const BYTES_OF_WRITE = 16_384;

/** Creates an object as a client would: with the defaults of its kind. A large one counts as several. */
export function createOwned(
  port: WorkloadPort,
  resource: ControlledResource,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { setDefaults = (same: KubeObject) => same } = resource.definition;
  port.writes.spend(Math.floor(stringifyJson(object).length / BYTES_OF_WRITE));
  return createControlled(port, resource, setDefaults(object), signal);
}

/**
 * Creates up to `wanted` pods, first one, then twice as many as before, until one is refused. Fewer where the cluster has used up what it may do now:
 * then nothing is wrong. Rejects with errors that are not about the object.
 */
export async function createPods(
  port: WorkloadPort,
  owner: KubeObject,
  wanted: number,
  podAt: (at: number, attempt: number) => KubeObject,
  says: Says,
  signal: AbortSignal,
): Promise<Made> {
  const pause = createTurns(port.runtime.clock);
  let count = 0;
  let error: ApiError | undefined;
  const create = async (at: number, attempt = 0): Promise<void> => {
    const pod = podAt(at, attempt);
    try {
      await createOwned(port, port.pods.resource, pod, signal);
      count++;
      says(owner, "Normal", "SuccessfulCreate", `Created pod: ${pod.metadata.name}`);
    } catch (caught) {
      if (isApiError(caught, "AlreadyExists")) {
        // Another server may have created it, which memory need not know yet.
        const existing = await readControlled(port, port.pods.resource, pod, signal);
        const isOwn = existing?.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true;
        if (isOwn && !isBeingDeleted(existing)) return;
        if (attempt < MOST_ATTEMPTS) return await create(at, attempt + 1);
      }
      error ??= refusal(caught);
      says(owner, "Warning", "FailedCreate", `Error creating: ${error.message}`);
    }
  };
  let at = 0;
  const end = Math.min(wanted, MOST_AT_ONCE);
  for (let size = 1; at < end && error === undefined && !signal.aborted; size = Math.min(size * 2, TOGETHER)) {
    const batch = port.writes.take(Math.min(size, end - at));
    if (batch === 0) break;
    await Promise.all(Array.from({ length: batch }, (_, index) => create(at + index)));
    at += batch;
    await pause();
  }
  return { count, error };
}

/** An answer that is about the object: also a webhook that does not answer is of the tenant. Throws all other errors. */
export function refusal(error: unknown): ApiError {
  if (!isApiError(error) || TEMPORARY.includes(error.code)) throw error;
  return error;
}

/** Deletes as many of these pods as the cluster may now; returns how many. */
export async function deletePods(
  port: WorkloadPort,
  owner: KubeObject,
  pods: readonly PodState[],
  says: Says,
  signal: AbortSignal,
): Promise<number> {
  const pause = createTurns(port.runtime.clock);
  const { namespace = "" } = owner.metadata;
  const end = port.writes.take(Math.min(pods.length, MOST_AT_ONCE));
  const remove = async ({ name, uid }: PodState): Promise<void> => {
    try {
      await deleteControlled(port, port.pods.resource, { metadata: { namespace, name, uid } }, signal);
      says(owner, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
    } catch (error) {
      if (!isApiError(error, "NotFound") && !isApiError(error, "Conflict")) throw error;
    }
  };
  for (let at = 0; at < end && !signal.aborted; at += TOGETHER) {
    await Promise.all(pods.slice(at, Math.min(at + TOGETHER, end)).map(remove));
    await pause();
  }
  return end;
}

// How finalizers and grace periods hold an object that is being deleted.
// Source: k8s.io/apiserver/pkg/registry/rest/delete.go

import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject, type ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import { invalidError } from "@postern/apimachinery/validation/field-error";
import { FINALIZER_DELETE_DEPENDENTS, FINALIZER_ORPHAN_DEPENDENTS } from "@postern/apimachinery/validation/object-meta";
import type { DeleteOptions } from "../../resource-storage.ts";
import type { StoreContext } from "../store-context.ts";
import { withMeta } from "./object-meta.ts";

/** The object as it is while finalizers or a grace period hold it. */
export function markForDeletion(store: StoreContext, object: KubeObject, options: DeleteOptions): KubeObject {
  const { orphansByDefault = false, hasNoDependents = false } = store.strategy;
  const before = object.metadata.finalizers ?? [];
  // A finalizer that is there decides before the default of the kind does.
  const isDecided = before.includes(FINALIZER_DELETE_DEPENDENTS) || !orphansByDefault;
  const policy = hasNoDependents ? undefined : (options.propagationPolicy ?? (isDecided ? undefined : "Orphan"));
  const finalizers = finalizersForDeletion(before, policy);
  const { finalizers: _, ...meta } = object.metadata;
  const unmarked = finalizers.length === 0 ? meta : { ...meta, finalizers };
  return isBeingDeleted(object)
    ? withMeta(object, { ...unmarked, ...shortened(store, object, gracePeriodOf(store, object, options)) })
    : withMeta(object, { ...unmarked, ...beginDeletion(store, object, gracePeriodOf(store, object, options)) });
}

/** Seconds; 0: at once. Like upstream, a negative period is one second. */
function gracePeriodOf({ strategy }: StoreContext, object: KubeObject, options: DeleteOptions): number {
  const { gracePeriodSeconds: asked } = options;
  const seconds =
    strategy.maxGracePeriodSeconds !== undefined
      ? (asked ?? 0)
      : strategy.gracePeriodOf === undefined
        ? 0
        : isBeingDeleted(object)
          ? (asked ?? Number.POSITIVE_INFINITY)
          : strategy.gracePeriodOf(object, asked);
  return seconds < 0 ? 1 : seconds;
}

/**
 * Milliseconds. Where the period is upstream's, one of more than 292 years wraps around, since Go counts nanoseconds in 64 bits; a kind with a longest
 * period of its own takes it as it is.
 */
const periodMs = ({ strategy }: StoreContext, seconds: number): number =>
  strategy.maxGracePeriodSeconds === undefined
    ? Number(BigInt.asIntN(64, BigInt(seconds) * 1_000_000_000n) / 1_000_000n)
    : seconds * 1000;

function beginDeletion(
  store: StoreContext,
  { metadata: { generation } }: KubeObject,
  deletionGracePeriodSeconds: number,
): Partial<ObjectMeta> {
  return {
    ...(generation === undefined ? {} : { generation: generation + 1 }),
    deletionTimestamp: formatTimestamp(store.runtime.clock.now() + periodMs(store, deletionGracePeriodSeconds)),
    deletionGracePeriodSeconds,
  };
}

/** Like upstream, a shorter period counts from the request that began the deletion, and ends now at the earliest. */
function shortened(store: StoreContext, { metadata }: KubeObject, seconds: number): Partial<ObjectMeta> {
  const { deletionTimestamp } = metadata;
  const before = metadata.deletionGracePeriodSeconds ?? 0;
  const end = parseTimestamp(deletionTimestamp ?? "");
  if (end === undefined || seconds >= before) return {};
  const now = store.runtime.clock.now();
  const earlier = end - periodMs(store, before) + periodMs(store, seconds);
  return earlier < now
    ? { deletionTimestamp: formatTimestamp(now), deletionGracePeriodSeconds: Math.min(seconds, 1) }
    : { deletionTimestamp: formatTimestamp(earlier), deletionGracePeriodSeconds: seconds };
}

/** A period that is not shorter changes nothing of a graceful deletion that has begun, finalizers included. */
export function isPending(store: StoreContext, object: KubeObject, options: DeleteOptions): boolean {
  if (!isBeingDeleted(object) || isGraceOver(store, object)) return false;
  return gracePeriodOf(store, object, options) >= (object.metadata.deletionGracePeriodSeconds ?? 0);
}

/** Throws ApiError 422. */
export function checkGracePeriod({ strategy }: StoreContext, { gracePeriodSeconds = 0 }: DeleteOptions): void {
  const { maxGracePeriodSeconds: max } = strategy;
  if (max === undefined || gracePeriodSeconds <= max) return;
  throw invalidObjectError({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", [
    invalidError("gracePeriodSeconds", gracePeriodSeconds, `must be less than or equal to ${max}`),
  ]);
}

/** Whether nothing holds an object any more that is being deleted. */
export const isReleased = (store: StoreContext, object: KubeObject): boolean =>
  isBeingDeleted(object) &&
  (object.metadata.finalizers ?? []).length === 0 &&
  isGraceOver(store, object) &&
  store.strategy.isHeld?.(object) !== true;

function isGraceOver({ runtime, strategy }: StoreContext, { metadata }: KubeObject): boolean {
  if ((metadata.deletionGracePeriodSeconds ?? 0) === 0) return true;
  if (strategy.maxGracePeriodSeconds === undefined) return strategy.gracePeriodOf === undefined;
  return (parseTimestamp(metadata.deletionTimestamp ?? "") ?? 0) <= runtime.clock.now();
}

/** The garbage collector's own two finalizers say how dependents are treated; a later request may change that. */
function finalizersForDeletion(
  finalizers: readonly string[],
  policy: DeleteOptions["propagationPolicy"],
): readonly string[] {
  if (policy === undefined) return finalizers;
  const others = finalizers.filter(
    (name) => name !== FINALIZER_ORPHAN_DEPENDENTS && name !== FINALIZER_DELETE_DEPENDENTS,
  );
  if (policy === "Orphan") return [...others, FINALIZER_ORPHAN_DEPENDENTS];
  if (policy === "Foreground") return [...others, FINALIZER_DELETE_DEPENDENTS];
  return others;
}

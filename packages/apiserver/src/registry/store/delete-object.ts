// Deletes an object, or sets its deletionTimestamp while it has finalizers or a grace period. A collection is deleted object by object.
// Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go (Delete), pkg/registry/rest/delete.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import {
  type ApiError,
  conflictError,
  invalidObjectError,
  isApiError,
  notFoundError,
} from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject, type ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import { invalidError } from "@postern/apimachinery/validation/field-error";
import { FINALIZER_DELETE_DEPENDENTS, FINALIZER_ORPHAN_DEPENDENTS } from "@postern/apimachinery/validation/object-meta";
import { CachedObject } from "../../cache/cached-object.ts";
import type { RequestContext } from "../../context/request-context.ts";
import { RevisionConflictError } from "../../storage/storage-errors.ts";
import { groupResourceOf } from "../resource-definition.ts";
import type { DeleteOptions, DeleteOutcome, ListPage, ListQuery } from "../resource-storage.ts";
import { committedObject, decodeEntry, runHook } from "./commit.ts";
import { keyOfRequest } from "./get-object.ts";
import { listObjects } from "./list-objects.ts";
import { withMeta, withRevision } from "./object-meta.ts";
import { throwStorageFailure } from "./storage-failure.ts";
import { groupKindOf, type StoreContext } from "./store-context.ts";

export async function deleteObject(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  name: string,
  options: DeleteOptions,
): Promise<DeleteOutcome> {
  const key = keyOfRequest(store, namespace, name);
  let current = store.view.get(key);
  for (;;) {
    if (current === undefined) {
      const entry = await store.storage.get(key, { signal: context.signal }).catch(throwStorageFailure);
      if (entry === undefined) throw notFoundError(groupResourceOf(store.definition), name);
      current = await decodeEntry(store, entry, context);
    }
    try {
      return await deleteCurrent(store, context, current, { namespace, name }, options);
    } catch (error) {
      if (!(error instanceof RevisionConflictError)) throwStorageFailure(error);
      if (error.current === undefined) throw notFoundError(groupResourceOf(store.definition), name);
      current = await decodeEntry(store, error.current, context);
    }
  }
}

async function deleteCurrent(
  store: StoreContext,
  context: RequestContext,
  current: CachedObject,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  options: DeleteOptions,
): Promise<DeleteOutcome> {
  const { storage, cache, strategy, admission, definition } = store;
  context.weigh(current.byteLength);
  if (context.isLong) await context.pause();
  const object = store.parsed.of(current);
  if (context.isLong) await context.pause();
  checkPreconditions(store, object, options);
  checkGracePeriod(store, options);
  const { dryRun } = options;
  const attributes = { context, resource: definition, subresource: "", namespace, name, operation: "delete" as const };
  const { dryRun: _, ...deleteOptions } = options;
  const asked = { ...attributes, object: undefined, oldObject: object, dryRun, deleteOptions };
  await admission.admit(asked);
  await admission.validate(asked);
  if (context.isLong) await context.pause();

  const prepared = (await strategy.prepareForDelete?.(object, context)) ?? object;
  const held = isPending(store, object, options) ? object : holdForDeletion(store, prepared, options);
  if (held === undefined) {
    if (dryRun) return { removed: true, object: current };
    const revision = await storage.delete(current.key, current.revision);
    await cache.waitFor(revision, context);
    await runHook(store, () => strategy.afterDelete?.(object, context));
    return { removed: true, object: current };
  }
  if (context.isLong) await context.pause();
  if (equalJson(held, object)) return { removed: false, object: current };
  if (dryRun)
    return { removed: false, object: CachedObject.fromObject(current.key, withRevision(held, current.revision)) };
  if (context.isLong) await context.pause();
  const sealed = current.decodeSealed();
  if (context.isLong) await context.pause();
  const value = await store.codec.encode(held, sealed, context);
  const revision = await storage.update(current.key, value, current.revision);
  return { removed: false, object: await committedObject(store, { key: current.key, value, revision }, held, context) };
}

/** The object as it is while finalizers or a grace period hold it; undefined when nothing does. */
function holdForDeletion(store: StoreContext, object: KubeObject, options: DeleteOptions): KubeObject | undefined {
  const finalizers = finalizersForDeletion(object.metadata.finalizers ?? [], options.propagationPolicy);
  const { finalizers: _, ...meta } = object.metadata;
  const unmarked = finalizers.length === 0 ? meta : { ...meta, finalizers };
  const marked = isBeingDeleted(object)
    ? withMeta(object, { ...unmarked, ...shortened(object, gracePeriodOf(store, options)) })
    : withMeta(object, { ...unmarked, ...beginDeletion(store, object, gracePeriodOf(store, options)) });
  return isReleased(store, marked) ? undefined : marked;
}

/** Seconds; 0: at once. Like upstream, a negative period is one second. */
function gracePeriodOf({ strategy }: StoreContext, { gracePeriodSeconds = 0 }: DeleteOptions): number {
  if (strategy.maxGracePeriodSeconds === undefined) return 0;
  return gracePeriodSeconds < 0 ? 1 : gracePeriodSeconds;
}

function beginDeletion(
  { runtime }: StoreContext,
  { metadata: { generation } }: KubeObject,
  deletionGracePeriodSeconds: number,
): Partial<ObjectMeta> {
  return {
    ...(generation === undefined ? {} : { generation: generation + 1 }),
    deletionTimestamp: formatTimestamp(runtime.clock.now() + deletionGracePeriodSeconds * 1000),
    deletionGracePeriodSeconds,
  };
}

/** Like upstream, a shorter period counts from the request that began the deletion. */
function shortened({ metadata }: KubeObject, deletionGracePeriodSeconds: number): Partial<ObjectMeta> {
  const { deletionTimestamp } = metadata;
  const before = metadata.deletionGracePeriodSeconds ?? 0;
  const end = parseTimestamp(deletionTimestamp ?? "");
  if (end === undefined || deletionGracePeriodSeconds >= before) return {};
  const earlier = end - (before - deletionGracePeriodSeconds) * 1000;
  return { deletionTimestamp: formatTimestamp(earlier), deletionGracePeriodSeconds };
}

/** A period that is not shorter changes nothing of a graceful deletion that has begun, finalizers included. */
function isPending(store: StoreContext, object: KubeObject, options: DeleteOptions): boolean {
  if (!isBeingDeleted(object) || isGraceOver(store, object)) return false;
  return gracePeriodOf(store, options) >= (object.metadata.deletionGracePeriodSeconds ?? 0);
}

/** Throws ApiError 422. */
function checkGracePeriod({ strategy }: StoreContext, { gracePeriodSeconds = 0 }: DeleteOptions): void {
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
  if (strategy.maxGracePeriodSeconds === undefined || (metadata.deletionGracePeriodSeconds ?? 0) === 0) return true;
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

function checkPreconditions(store: StoreContext, { metadata }: KubeObject, { preconditions }: DeleteOptions): void {
  const uid = metadata.uid ?? "";
  const revision = metadata.resourceVersion ?? "";
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
    throw preconditionError(
      store,
      metadata.name ?? "",
      `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). ` +
        "The object might have been deleted and then recreated",
    );
  }
  if (preconditions?.resourceVersion !== undefined && preconditions.resourceVersion !== revision) {
    throw preconditionError(
      store,
      metadata.name ?? "",
      `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match the ResourceVersion in ` +
        `record (${revision}). The object might have been modified`,
    );
  }
}

/** Upstream names the Kind here, not the resource. */
function preconditionError(store: StoreContext, name: string, why: string): ApiError {
  const { group, kind } = groupKindOf(store);
  return conflictError({ group, resource: kind }, name, why);
}

// Deletes everything that a list selects, one object after the other, each by the rules of a single delete.

/** Deletions in flight at once: enough to share commits, few enough to leave room for others. */
const CONCURRENCY = 32;

/** Resolves with the objects as they were when they were selected. Preconditions hold for each of them. */
export async function deleteCollection(
  store: StoreContext,
  context: RequestContext,
  query: ListQuery,
  options: DeleteOptions,
): Promise<ListPage> {
  const page = await listObjects(store, context, query);
  const pending = [...page.items];
  const worker = async (): Promise<void> => {
    for (let object = pending.shift(); object !== undefined; object = pending.shift()) {
      const { namespace, name } = store.keys.parse(object.key);
      await deleteObject(store, context, namespace, name, options).catch(ignoreAbsent);
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, pending.length) }, worker));
  return page;
}

/** Another client deleted it first, which is the requested result. */
function ignoreAbsent(error: unknown): void {
  if (!isApiError(error, "NotFound")) throw error;
}

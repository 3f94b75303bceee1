// Updates an object, and retries on conflicts.
// Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go (Update), pkg/registry/rest/update.go

import { equalJson, equalObjects } from "@postern/apimachinery/json/equal-json";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError, notFoundError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { restoreImmutableMeta } from "@postern/apimachinery/validation/object-meta";
import { keepTimesOfNoop } from "@postern/structured-merge/managedfields/object-managed-fields";
import { CachedObject } from "../../cache/cached-object.ts";
import type { RequestContext } from "../../context/request-context.ts";
import { RevisionConflictError } from "../../storage/storage-errors.ts";
import { groupResourceOf } from "../resource-definition.ts";
import type { UpdateRequest, WriteOptions } from "../resource-storage.ts";
import {
  checkLimits,
  committedObject,
  decodeEntry,
  rehearseWrite,
  runHook,
  writeDroppingManagedFields,
  writeReserved,
  writeWithinLimits,
} from "./commit.ts";
import { createObject } from "./create-object.ts";
import { isReleased } from "./delete-object.ts";
import { finalizerWarnings } from "./finalizer-warnings.ts";
import { keyOfRequest } from "./get-object.ts";
import { mergeSubresource } from "./merge-subresource.ts";
import { withGenerationOf, withMeta, withRevision } from "./object-meta.ts";
import { checkedVersion, uidPreconditionError } from "./preconditions.ts";
import { throwStorageFailure } from "./storage-failure.ts";
import type { StoreContext } from "./store-context.ts";
import { validateChangedObject } from "./validate-object.ts";

type Target = { readonly namespace: string; readonly name: string; readonly key: string };
type Outcome = { readonly object: CachedObject; readonly created: boolean };
/** Runs when others may change the object again: it may do so itself. */
type Written = Outcome & { readonly hook?: (() => void | Promise<void>) | undefined };

export async function updateObject(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  name: string,
  request: UpdateRequest,
  options: WriteOptions,
): Promise<Outcome> {
  const target = { namespace, name, key: keyOfRequest(store, namespace, name) };
  const lock = { isHeld: false };
  let written: Written;
  try {
    written = await writeUpdate(store, context, target, request, options, lock);
  } finally {
    releaseLock(store, target, lock);
  }
  const { object, created, hook } = written;
  if (hook !== undefined) await runHook(store, hook);
  return { object, created };
}

async function writeUpdate(
  store: StoreContext,
  context: RequestContext,
  target: Target,
  request: UpdateRequest,
  options: WriteOptions,
  lock: { isHeld: boolean },
): Promise<Written> {
  let current = store.view.get(target.key);
  // The cache may be behind the store: whatever is decided on it and turns out badly is decided again on the newest state.
  let isNewest = false;
  for (;;) {
    try {
      if (current === undefined && isNewest) {
        // Hooks after a creation may change the object again.
        releaseLock(store, target, lock);
        return await createAbsent(store, context, target, request, options);
      }
      if (current !== undefined) return await replace(store, context, target, current, request, options);
    } catch (error) {
      if (error instanceof RevisionConflictError) {
        isNewest = true;
        const othersFirst = lock.isHeld ? undefined : store.writeLocks.acquire(target.key);
        lock.isHeld = true;
        await othersFirst;
        context.signal.throwIfAborted();
        if (othersFirst !== undefined) current = await readNewest(store, target.key, context);
        else current = error.current && (await decodeEntry(store, error.current, context));
        continue;
      }
      if (isNewest || !(error instanceof ApiError)) throwStorageFailure(error);
      const seen = current?.revision;
      current = await readNewest(store, target.key, context);
      isNewest = true;
      if (current?.revision === seen) throw error;
      continue;
    }
    current = await readNewest(store, target.key, context);
    isNewest = true;
  }
}

function releaseLock({ writeLocks }: StoreContext, { key }: Target, lock: { isHeld: boolean }): void {
  if (lock.isHeld) writeLocks.release(key);
  lock.isHeld = false;
}

async function readNewest(
  store: StoreContext,
  key: string,
  context: RequestContext,
): Promise<CachedObject | undefined> {
  try {
    const entry = await store.storage.get(key, { signal: context.signal });
    return entry && (await decodeEntry(store, entry, context));
  } catch (error) {
    return throwStorageFailure(error);
  }
}

async function createAbsent(
  store: StoreContext,
  context: RequestContext,
  target: Target,
  request: UpdateRequest,
  options: WriteOptions,
): Promise<Outcome> {
  if (request.uid !== undefined && request.uid !== "")
    throw uidPreconditionError(store.definition, target, request.uid, "");
  if (request.createWhenAbsent === undefined) throw notFoundError(groupResourceOf(store.definition), target.name);
  const object = await createObject(store, context, target.namespace, await request.createWhenAbsent(), options);
  return { object, created: true };
}

async function replace(
  store: StoreContext,
  context: RequestContext,
  target: Target,
  current: CachedObject,
  request: UpdateRequest,
  options: WriteOptions,
): Promise<Written> {
  const { name } = target;
  context.weigh(current.byteLength);
  if (context.isLong) await context.pause();
  const old = store.parsed.of(current);
  const uid = old.metadata.uid ?? "";
  if (request.uid !== undefined && request.uid !== "" && request.uid !== uid) {
    throw uidPreconditionError(store.definition, target, request.uid, uid);
  }
  const transforming = request.transform(old);
  const transformed = transforming instanceof Promise ? await transforming : transforming;
  const submitted = checkedVersion(store, name, transformed, current.revision);
  const prepared = await prepare(store, context, target, old, submitted, request.subresource, options);
  if (context.isLong) await context.pause();
  const next = keepTimesOfNoop(old, prepared);
  if (context.isLong) await context.pause();

  const previousSealed = current.decodeSealed();
  if (previousSealed !== undefined && context.isLong) await context.pause();
  const { object, sealed } = store.definition.sealed?.seal(next, previousSealed, context, old) ?? {
    object: next,
    sealed: previousSealed,
  };
  if (context.isLong) await context.pause();
  const comparing = store.codec.isStored(object, old, current, context);
  if ((comparing instanceof Promise ? await comparing : comparing) && equalJson(sealed, previousSealed)) {
    // The steps after the write read the decoded object more than once.
    return { object: current.decodedAs(old), created: false };
  }
  if (options.dryRun) {
    await checkLimits(store.strategy.limits?.(next, old, context));
    const rehearse = (changed: KubeObject) =>
      rehearseWrite(store, context, target.key, next, changed, sealed, "update");
    const written = () =>
      request.keepsManagedFields === true ? rehearse(object) : writeDroppingManagedFields(object, rehearse);
    const shown = isReleased(store, object) ? object : await written();
    return { object: CachedObject.fromObject(target.key, withRevision(shown, current.revision)), created: false };
  }
  if (isReleased(store, object)) return await remove(store, context, target, current, object);
  const writeNext = (changed: KubeObject) => write(store, context, target, current, changed, sealed);
  const stored = await writeWithinLimits(store, context, next, old, () =>
    writeReserved(store, context, next, () =>
      request.keepsManagedFields === true ? writeNext(object) : writeDroppingManagedFields(object, writeNext),
    ),
  );
  const hook =
    store.strategy.afterUpdate === undefined
      ? undefined
      : async () => {
          if (context.isLong) await context.pause();
          await store.strategy.afterUpdate?.(stored.decode(), old, context);
        };
  return { object: stored, created: false, hook };
}

async function write(
  store: StoreContext,
  context: RequestContext,
  { key }: Target,
  current: CachedObject,
  object: KubeObject,
  sealed: JsonObject | undefined,
): Promise<CachedObject> {
  if (context.isLong) await context.pause();
  const encoding = store.codec.encode(object, sealed, context);
  const value = encoding instanceof Promise ? await encoding : encoding;
  const revision = await store.storage.update(key, value, current.revision);
  const committed = committedObject(store, { key, value, revision }, object, context);
  return committed instanceof Promise ? await committed : committed;
}

/** The last finalizer was removed: the object is deleted, and the response shows its last state. */
async function remove(
  store: StoreContext,
  context: RequestContext,
  { key }: Target,
  current: CachedObject,
  object: KubeObject,
): Promise<Written> {
  const revision = await store.storage.delete(key, current.revision);
  await store.cache.waitFor(revision, context);
  const hook = () => store.strategy.afterDelete?.(object, context);
  return { object: CachedObject.fromObject(key, withRevision(object, current.revision)), created: false, hook };
}

async function prepare(
  store: StoreContext,
  context: RequestContext,
  { namespace, name }: Target,
  old: KubeObject,
  submitted: KubeObject,
  subresource: string,
  { dryRun }: WriteOptions,
): Promise<KubeObject> {
  const { definition, strategy, admission } = store;
  const attributes = {
    context,
    resource: definition,
    subresource,
    namespace,
    name,
    operation: "update" as const,
    dryRun,
  };
  if (context.isLong) await context.pause();
  const admitting = admission.admit({ ...attributes, object: submitted, oldObject: old });
  const admitted = (admitting instanceof Promise ? await admitting : admitting) ?? submitted;
  if (context.isLong) await context.pause();
  const merged = mergeSubresource(definition, subresource, admitted, old);
  const restored = withMeta(merged, restoreImmutableMeta(merged.metadata, old.metadata));
  if (context.isLong) await context.pause();
  const preparing = strategy.prepareForUpdate?.(restored, old, context) ?? restored;
  const prepared = preparing instanceof Promise ? await preparing : preparing;
  if (context.isLong) await context.pause();
  const counted =
    definition.tracksGeneration === false
      ? withMeta(prepared, withGenerationOf(prepared.metadata, old.metadata))
      : withGeneration(prepared, old, definition.hasStatus);
  await validateChangedObject(store, counted, old, context, subresource);
  for (const warning of finalizerWarnings(definition, counted.metadata, old.metadata)) context.warnings.add(warning);
  for (const warning of strategy.warningsOnUpdate?.(counted, old, context) ?? []) context.warnings.add(warning);
  if (context.isLong) await context.pause();
  const validating = admission.validate({ ...attributes, object: counted, oldObject: old });
  if (validating instanceof Promise) await validating;
  return counted;
}

function withGeneration(object: KubeObject, old: KubeObject, hasStatus = false): KubeObject {
  const generation = old.metadata.generation ?? 0;
  const changed = hasStatus
    ? !equalJson(desiredState(object), desiredState(old))
    : !equalObjects(object, old, "metadata");
  const counted = changed ? generation + 1 : generation;
  return object.metadata.generation === counted
    ? object
    : withMeta(object, { ...object.metadata, generation: counted });
}

function desiredState({ metadata: _, status: _status, ...desired }: KubeObject): JsonObject {
  return desired;
}

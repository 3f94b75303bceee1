// Updates an object, and retries on conflicts.
// Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go (Update), pkg/registry/rest/update.go

import { equalJson, equalObjects } from "@postern/apimachinery/json/equal-json";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError, notFoundError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { restoreImmutableMeta } from "@postern/apimachinery/validation/object-meta";
import { keepTimesOfNoop } from "@postern/structured-merge/managedfields/object-managed-fields";
import { CachedObject } from "../../../cache/cached-object.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import { type Awaitable, whenDone } from "../../../runtime/awaitable.ts";
import { RevisionConflictError } from "../../../storage/storage-errors.ts";
import { groupResourceOf } from "../../resource-definition.ts";
import type { UpdateRequest, WriteOptions } from "../../resource-storage.ts";
import { keyOfRequest } from "../reads/get-object.ts";
import { throwStorageFailure } from "../storage-failure.ts";
import type { StoreContext } from "../store-context.ts";
import { admit, confirm, warnOfFinalizers } from "./admit-write.ts";
import { checkLimits, commitPhases, contentOf, decodeEntry, rehearsalPhases, runHook, seal } from "./commit.ts";
import { createObject } from "./create-object.ts";
import { isReleased } from "./graceful-deletion.ts";
import { mergeSubresource } from "./merge-subresource.ts";
import { withGenerationOf, withMeta, withRevision } from "./object-meta.ts";
import { checkedVersion, uidPreconditionError } from "./preconditions.ts";
import { DONE, type Phase, runPhases } from "./run-phases.ts";
import { VALIDATE_CHANGE } from "./validate-object.ts";
import { Change, resultOf, runWrite, type WritePhase } from "./write.ts";

/** One attempt: it fails when another write changes the object first. The first phase sets `old`. */
class Update extends Change {
  readonly current: CachedObject;
  readonly request: UpdateRequest;
  /** Runs when others may change the object again: it may do so itself. */
  hook: (() => void | Promise<void>) | undefined;

  constructor(
    { store, context, namespace, name }: Target,
    current: CachedObject,
    request: UpdateRequest,
    dryRun: boolean,
  ) {
    const { subresource, keepsManagedFields } = request;
    super({ store, context, namespace, name, object: NO_OBJECT, dryRun, subresource, keepsManagedFields });
    this.current = current;
    this.request = request;
    context.weigh(current.byteLength);
  }
}

/** Until the first phase has made one. */
const NO_OBJECT: KubeObject = { apiVersion: "", kind: "", metadata: {} };

const PREPARE: readonly WritePhase<Update>[] = [
  read,
  transform,
  admit,
  merge,
  prepareForUpdate,
  countGeneration,
  ...VALIDATE_CHANGE,
  warnOfFinalizers,
  warnOnUpdate,
  confirm,
  keepTimes,
  readSealed,
  seal,
  leaveUnchanged,
];
const UPDATE: readonly WritePhase<Update>[] = [
  ...PREPARE,
  removeReleased,
  ...commitPhases<Update>((write) =>
    write.store.storage.update(write.key, write.value, write.current.revision, contentOf(write)),
  ),
  keepHook,
];
const REHEARSE: readonly WritePhase<Update>[] = [
  ...PREPARE,
  rehearseRemoval,
  ...rehearsalPhases<Update>(showUnchangedRevision),
];

type Target = {
  readonly store: StoreContext;
  readonly context: RequestContext;
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
};
type Outcome = { readonly object: CachedObject; readonly created: boolean };

export async function updateObject(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  name: string,
  request: UpdateRequest,
  options: WriteOptions,
): Promise<Outcome> {
  const target = { store, context, namespace, name, key: keyOfRequest(store, namespace, name) };
  const lock = new WriteLock(target);
  let outcome: Outcome | Update;
  try {
    outcome = await updateNewest(target, lock, request, options);
  } finally {
    lock.release();
  }
  if (!(outcome instanceof Update)) return outcome;
  await runPhases([runAfterUpdate], outcome);
  return { object: resultOf(outcome), created: false };
}

/** The cache may be behind the store: whatever is decided on it and turns out badly is decided again on the newest state. */
async function updateNewest(
  target: Target,
  lock: WriteLock,
  request: UpdateRequest,
  options: WriteOptions,
): Promise<Outcome | Update> {
  const { store, context, key } = target;
  let current = store.view.get(key);
  let isNewest = false;
  for (;;) {
    if (current === undefined && !isNewest) {
      current = await readNewest(target);
      isNewest = true;
    }
    try {
      if (current !== undefined) return await update(target, current, request, options);
      // Hooks after a creation may change the object again.
      lock.release();
      return await createAbsent(target, request, options);
    } catch (error) {
      if (error instanceof RevisionConflictError) {
        const othersFirst = lock.take();
        await othersFirst;
        context.signal.throwIfAborted();
        if (othersFirst !== undefined) current = await readNewest(target);
        else current = error.current && (await decodeEntry(store, error.current, context));
      } else {
        if (isNewest || !(error instanceof ApiError)) throwStorageFailure(error);
        const seen = current?.revision;
        current = await readNewest(target);
        if (current?.revision === seen) throw error;
      }
      isNewest = true;
    }
  }
}

/** Held from the first conflict on: retries of conflicting writes go one after the other. */
class WriteLock {
  readonly #target: Target;
  #isHeld = false;

  constructor(target: Target) {
    this.#target = target;
  }

  /** Undefined if nobody else holds it; otherwise resolves when it is this one's. */
  take(): Promise<void> | undefined {
    if (this.#isHeld) return undefined;
    this.#isHeld = true;
    return this.#target.store.writeLocks.acquire(this.#target.key);
  }

  release(): void {
    if (this.#isHeld) this.#target.store.writeLocks.release(this.#target.key);
    this.#isHeld = false;
  }
}

async function readNewest({ store, context, key }: Target): Promise<CachedObject | undefined> {
  try {
    const entry = await store.storage.get(key, { signal: context.signal });
    return entry && (await decodeEntry(store, entry, context));
  } catch (error) {
    return throwStorageFailure(error);
  }
}

async function createAbsent(target: Target, request: UpdateRequest, options: WriteOptions): Promise<Outcome> {
  const { store, context, namespace, name } = target;
  const { uid = "", createWhenAbsent } = request;
  if (createWhenAbsent === undefined) throw notFoundError(groupResourceOf(store.definition), name);
  if (uid !== "") throw uidPreconditionError(store.definition, target, uid, "");
  const object = await createObject(store, context, namespace, await createWhenAbsent(), options);
  return { object, created: true };
}

async function update(
  target: Target,
  current: CachedObject,
  request: UpdateRequest,
  { dryRun }: WriteOptions,
): Promise<Update> {
  const write = new Update(target, current, request, dryRun);
  await runWrite<Update>(dryRun ? REHEARSE : UPDATE, write);
  return write;
}

function read(write: Update): void {
  const { store, current, request, name, namespace } = write;
  write.old = store.parsed.of(current);
  const { uid: wanted = "" } = request;
  const { uid = "" } = write.old.metadata;
  if (wanted !== "" && wanted !== uid) throw uidPreconditionError(store.definition, { namespace, name }, wanted, uid);
}

function transform(write: Update): Awaitable<void> {
  const { store, name, request, old, current } = write;
  return whenDone(request.transform(old), (object) => {
    write.object = checkedVersion(store, name, object, current.revision);
  });
}

function merge(write: Update): void {
  const { store, subresource, object, old } = write;
  const merged = mergeSubresource(store.definition, subresource, object, old);
  write.object = withMeta(merged, restoreImmutableMeta(merged.metadata, old.metadata));
}

function prepareForUpdate(write: Update): Awaitable<void> {
  const { store, object, old, context } = write;
  return whenDone(store.strategy.prepareForUpdate?.(object, old, context), (prepared = object) => {
    write.object = prepared;
  });
}

function countGeneration(write: Update): void {
  const { tracksGeneration, hasStatus, subresources = [] } = write.store.definition;
  const isAction = subresources.some(({ name, create }) => name === write.subresource && create !== undefined);
  const { object, old } = write;
  write.object =
    tracksGeneration === false || tracksGeneration === "onCreate" || isAction
      ? withMeta(object, withGenerationOf(object.metadata, old.metadata))
      : withGeneration(
          object,
          old,
          hasStatus,
          tracksGeneration === "withAnnotations" && write.subresource !== "status",
        );
}

function withGeneration(object: KubeObject, old: KubeObject, hasStatus = false, countsAnnotations = false): KubeObject {
  const generation = old.metadata.generation ?? 0;
  const isAnnotated =
    countsAnnotations && !equalJson(object.metadata.annotations ?? {}, old.metadata.annotations ?? {});
  const isOther = hasStatus
    ? !equalJson(desiredState(object), desiredState(old))
    : !equalObjects(object, old, "metadata");
  const changed = isAnnotated || isOther;
  const counted = changed ? generation + 1 : generation;
  return object.metadata.generation === counted
    ? object
    : withMeta(object, { ...object.metadata, generation: counted });
}

function desiredState({ metadata: _, status: _status, ...desired }: KubeObject): JsonObject {
  return desired;
}

function warnOnUpdate({ store, object, old, context }: Update): void {
  for (const warning of store.strategy.warningsOnUpdate?.(object, old, context) ?? []) context.warnings.add(warning);
}

function keepTimes(write: Update): void {
  write.object = keepTimesOfNoop(write.old, write.object);
}

function readSealed(write: Update): void {
  write.oldSealed = write.current.decodeSealed();
}

/** A write that changes nothing is answered with the object as it is. */
function leaveUnchanged(write: Update): Awaitable<typeof DONE | undefined> {
  const { store, served, sealed, old, oldSealed, current, context } = write;
  return whenDone(store.codec.isStored(served, old, current, context), (isStored) => {
    if (!isStored || !equalJson(sealed, oldSealed)) return undefined;
    // The steps after the write read the decoded object more than once.
    write.result = current.decodedAs(old);
    return DONE;
  });
}

/** The last finalizer was removed: the object is deleted, and the response shows its last state. */
function removeReleased(write: Update): Promise<typeof DONE> | undefined {
  return isReleased(write.store, write.served) ? remove(write) : undefined;
}

async function remove(write: Update): Promise<typeof DONE> {
  const { store, context, key, current, served } = write;
  write.isSent = true;
  const revision = await store.storage.delete(key, current.revision);
  await store.cache.waitFor(revision, context);
  write.hook = () => store.strategy.afterDelete?.(served, context);
  showUnchangedRevision(write);
  return DONE;
}

async function rehearseRemoval(write: Update): Promise<typeof DONE | undefined> {
  if (!isReleased(write.store, write.served)) return undefined;
  await checkLimits(write);
  showUnchangedRevision(write);
  return DONE;
}

function showUnchangedRevision(write: Update): void {
  const { key, served, current } = write;
  write.result = CachedObject.fromObject(key, withRevision(served, current.revision));
}

function keepHook(write: Update): void {
  const { store, context, old, result } = write;
  const { strategy } = store;
  if (strategy.afterUpdate === undefined || result === undefined) return;
  write.hook = () => strategy.afterUpdate?.(result.decode(), old, context);
}

const runAfterUpdate: Phase<Update> = ({ store, hook }) => hook && runHook(store, hook);

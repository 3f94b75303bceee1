// Deletes an object, or sets its deletionTimestamp while it has finalizers or a grace period.
// Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go (Delete), pkg/registry/rest/delete.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { type ApiError, conflictError, notFoundError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject } from "../../../cache/cached-object.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import type { Revision } from "../../../storage/storage.ts";
import { RevisionConflictError } from "../../../storage/storage-errors.ts";
import type { AdmissionAttributes } from "../../admission-plugin.ts";
import { groupResourceOf } from "../../resource-definition.ts";
import type { DeleteOptions, DeleteOutcome } from "../../resource-storage.ts";
import { keyOfRequest } from "../reads/get-object.ts";
import { throwStorageFailure } from "../storage-failure.ts";
import { groupKindOf, type StoreContext } from "../store-context.ts";
import { committedObject, decodeEntry, runHook } from "./commit.ts";
import { checkGracePeriod, isPending, isReleased, markForDeletion } from "./graceful-deletion.ts";
import { withRevision } from "./object-meta.ts";
import { DONE, type Phase, runPhases } from "./run-phases.ts";

type Deletion = {
  readonly store: StoreContext;
  readonly context: RequestContext;
  readonly namespace: string;
  readonly name: string;
  readonly options: DeleteOptions;
  readonly current: CachedObject;
  /** Set by the first phase. */
  object: KubeObject;
  /** The object as it stays while something holds it. */
  held: KubeObject;
  sealed: JsonObject | undefined;
  value: Uint8Array;
  isSent: boolean;
  outcome: DeleteOutcome;
};

const DELETE: readonly Phase<Deletion>[] = [
  read,
  checkConditions,
  admit,
  confirm,
  hold,
  leaveUnchanged,
  rehearse,
  readSealed,
  encode,
  mark,
];

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
    const deletion = begin({ store, context, namespace, name, options, current });
    try {
      await runPhases(DELETE, deletion);
      return deletion.outcome;
    } catch (error) {
      if (!(error instanceof RevisionConflictError)) throwStorageFailure(error);
      if (error.current === undefined) throw notFoundError(groupResourceOf(store.definition), name);
      current = await decodeEntry(store, error.current, context);
    }
  }
}

function begin(parts: Pick<Deletion, "store" | "context" | "namespace" | "name" | "options" | "current">): Deletion {
  const { context, current } = parts;
  context.weigh(current.byteLength);
  return {
    ...parts,
    object: UNREAD,
    held: UNREAD,
    sealed: undefined,
    value: new Uint8Array(0),
    isSent: false,
    outcome: { removed: false, object: current },
  };
}

const UNREAD: KubeObject = { apiVersion: "", kind: "", metadata: {} };

function read(deletion: Deletion): void {
  deletion.object = deletion.store.parsed.of(deletion.current);
}

function checkConditions({ store, object, options }: Deletion): void {
  checkPreconditions(store, object, options);
  checkGracePeriod(store, options);
}

async function admit(deletion: Deletion): Promise<void> {
  await deletion.store.admission.admit(admissionAttributesOf(deletion));
}

async function confirm(deletion: Deletion): Promise<void> {
  await deletion.store.admission.validate(admissionAttributesOf(deletion));
}

function admissionAttributesOf({ store, context, namespace, name, object, options }: Deletion): AdmissionAttributes {
  const { dryRun, ...deleteOptions } = options;
  return {
    context,
    resource: store.definition,
    subresource: "",
    namespace,
    name,
    operation: "delete",
    object: undefined,
    oldObject: object,
    dryRun,
    deleteOptions,
  };
}

/** Removes an object that nothing holds. */
async function hold(deletion: Deletion): Promise<typeof DONE | undefined> {
  const { store, context, object, options } = deletion;
  const prepared = (await store.strategy.prepareForDelete?.(object, context)) ?? object;
  const isHeld = isPending(store, object, options);
  deletion.held = isHeld ? object : markForDeletion(store, prepared, options);
  return isHeld || !isReleased(store, deletion.held) ? undefined : await remove(deletion);
}

async function remove(deletion: Deletion): Promise<typeof DONE> {
  const { store, context, current, object, held, options } = deletion;
  const { marksDeleted = false } = store.strategy;
  const gone = (revision: Revision): CachedObject =>
    marksDeleted ? CachedObject.fromObject(current.key, withRevision(held, revision)) : current;
  deletion.outcome = { removed: true, object: gone(current.revision) };
  if (options.dryRun) return DONE;
  deletion.isSent = true;
  const revision = await store.storage.delete(current.key, current.revision);
  await store.cache.waitFor(revision, context);
  deletion.outcome = { removed: true, object: gone(revision) };
  await runHook(store, () => store.strategy.afterDelete?.(object, context));
  return DONE;
}

function leaveUnchanged(deletion: Deletion): typeof DONE | undefined {
  const { held, object, current } = deletion;
  if (!equalJson(held, object)) return undefined;
  deletion.outcome = { removed: false, object: current, isUnchanged: true };
  return DONE;
}

function rehearse(deletion: Deletion): typeof DONE | undefined {
  const { options, current, held } = deletion;
  if (!options.dryRun) return undefined;
  const object = CachedObject.fromObject(current.key, withRevision(held, current.revision));
  deletion.outcome = { removed: false, object };
  return DONE;
}

function readSealed(deletion: Deletion): void {
  deletion.sealed = deletion.current.decodeSealed();
}

async function encode(deletion: Deletion): Promise<void> {
  const { store, context, held, sealed } = deletion;
  deletion.value = await store.codec.encode(held, sealed, context);
}

/** Stores the object with its deletionTimestamp. */
async function mark(deletion: Deletion): Promise<void> {
  const { store, context, current, held, value } = deletion;
  const { key } = current;
  deletion.isSent = true;
  const revision = await store.storage.update(key, value, current.revision);
  deletion.outcome = { removed: false, object: await committedObject(store, { key, value, revision }, held, context) };
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

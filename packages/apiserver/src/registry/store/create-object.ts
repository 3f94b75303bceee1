// Creates an object: names it, runs the strategy and admission, and stores it.
// Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go (Create), pkg/registry/rest/create.go

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError, alreadyExistsError, untypedError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { generateName } from "@postern/apimachinery/names/generate-name";
import { CachedObject } from "../../cache/cached-object.ts";
import { createMemberReader } from "../../cache/read-members.ts";
import type { StoredContent } from "../../cache/watch-cache.ts";
import type { RequestContext } from "../../context/request-context.ts";
import { KeyExistsError } from "../../storage/storage-errors.ts";
import { groupResourceOf } from "../resource-definition.ts";
import type { WriteOptions } from "../resource-storage.ts";
import {
  checkLimits,
  committedObject,
  rehearseWrite,
  runHook,
  writeDroppingManagedFields,
  writeReserved,
  writeWithinLimits,
} from "./commit.ts";
import { finalizerWarnings } from "./finalizer-warnings.ts";
import { withoutStatus } from "./merge-subresource.ts";
import { metaForCreate, withMeta } from "./object-meta.ts";
import { throwStorageFailure } from "./storage-failure.ts";
import type { StoreContext } from "./store-context.ts";
import { validateNewObject } from "./validate-object.ts";

const readDeletion = createMemberReader({ metadata: { deletionTimestamp: true } });

/** How many generated names are tried before the client has to retry. */
const NAME_ATTEMPTS = 8;

export async function createObject(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  object: KubeObject,
  options: WriteOptions,
): Promise<CachedObject> {
  const admission = store.admission.admit(admissionAttributes(store, context, namespace, object, options.dryRun));
  const admitted = (admission instanceof Promise ? await admission : admission) ?? object;
  const wanted = nameOf(store, admitted, context);
  for (let attempt = 1; ; attempt++) {
    const name =
      wanted.name === "" && wanted.prefix !== "" ? generateName(wanted.prefix, store.runtime.random) : wanted.name;
    const prepared = await prepare(store, context, admitted, namespace, name, options);
    try {
      return await insert(store, context, prepared, store.keys.of(namespace, name), options);
    } catch (error) {
      if (!(error instanceof KeyExistsError)) throwStorageFailure(error);
      const isLast = name === wanted.name || attempt === NAME_ATTEMPTS;
      // Also of a name beside a prefix it is said that it was generated, as upstream.
      if (isLast && wanted.prefix !== "") throw await nameTakenError(store, namespace, name, namesExhaustedError);
      if (isLast) throw await nameTakenError(store, namespace, name, takenError);
    }
  }
}

const admissionAttributes = (
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  object: KubeObject,
  dryRun: boolean,
) => ({
  context,
  resource: store.definition,
  subresource: "",
  namespace,
  name: object.metadata.name ?? "",
  operation: "create" as const,
  object,
  oldObject: undefined,
  dryRun,
});

function nameOf(store: StoreContext, { metadata }: KubeObject, context: RequestContext) {
  let { name = "", generateName: prefix = "" } = metadata;
  if (name === "" && prefix === "") {
    const chosen = store.strategy.nameWhenAbsent?.(context);
    name = chosen?.name ?? "";
    prefix = chosen?.generateName ?? "";
  }
  return { name, prefix };
}

async function prepare(
  store: StoreContext,
  context: RequestContext,
  object: KubeObject,
  namespace: string,
  name: string,
  { dryRun }: WriteOptions,
): Promise<KubeObject> {
  const { definition, strategy, runtime } = store;
  const named = withMeta(
    withoutStatus(object, definition),
    metaForCreate(object.metadata, definition, { namespace, name }, runtime),
  );
  if (context.isLong) await context.pause();
  const preparing = strategy.prepareForCreate?.(named, context) ?? named;
  const prepared = preparing instanceof Promise ? await preparing : preparing;
  if (context.isLong) await context.pause();
  await validateNewObject(store, prepared, context);
  for (const warning of finalizerWarnings(definition, prepared.metadata, undefined)) context.warnings.add(warning);
  for (const warning of strategy.warningsOnCreate?.(prepared, context) ?? []) context.warnings.add(warning);
  if (context.isLong) await context.pause();
  const admission = store.admission.validate(admissionAttributes(store, context, namespace, prepared, dryRun));
  if (admission instanceof Promise) await admission;
  // As upstream has it: a text that is no version at all is dropped.
  if (Number(object.metadata.resourceVersion || 0) > 0) {
    throw untypedError("resourceVersion should not be set on objects to be created");
  }
  return prepared;
}

async function insert(
  store: StoreContext,
  context: RequestContext,
  prepared: KubeObject,
  key: string,
  { dryRun }: WriteOptions,
): Promise<CachedObject> {
  if (context.isLong) await context.pause();
  const { object, sealed } = store.definition.sealed?.seal(prepared, undefined, context) ?? {
    object: prepared,
    sealed: undefined,
  };
  if (context.isLong) await context.pause();
  if (dryRun) {
    if (store.view.get(key) !== undefined) throw new KeyExistsError(key);
    await checkLimits(store.strategy.limits?.(prepared, undefined, context));
    const rehearse = (next: KubeObject) => rehearseWrite(store, context, key, prepared, next, sealed, "create");
    return CachedObject.fromObject(key, await writeDroppingManagedFields(object, rehearse));
  }
  const stored = await writeWithinLimits(store, context, prepared, undefined, () =>
    writeReserved(store, context, prepared, () =>
      writeDroppingManagedFields(object, (next) => write(store, context, key, next, sealed)),
    ),
  );
  const { afterCreate } = store.strategy;
  if (afterCreate !== undefined) {
    if (context.isLong) await context.pause();
    const after = runHook(store, () => store.strategy.afterCreate?.(stored.decode(), context));
    if (after !== undefined) await after;
  }
  const reveal = store.definition.sealed?.reveal;
  if (reveal === undefined) return stored;
  if (context.isLong) await context.pause();
  const revealed = reveal(stored.decode(), prepared);
  if (context.isLong) await context.pause();
  return CachedObject.fromObject(key, revealed).decodedAs(revealed);
}

async function write(
  store: StoreContext,
  context: RequestContext,
  key: string,
  object: KubeObject,
  sealed: JsonObject | undefined,
): Promise<CachedObject> {
  if (context.isLong) await context.pause();
  const encoding = store.codec.encode(object, sealed, context);
  const value = encoding instanceof Promise ? await encoding : encoding;
  const content: StoredContent | undefined = store.codec.isVerbatim === true ? { object, sealed } : undefined;
  const revision = await store.storage.create(key, value, content);
  const committed = committedObject(store, { key, value, revision }, object, context);
  return committed instanceof Promise ? await committed : committed;
}

const takenError = ({ definition }: StoreContext, name: string): ApiError =>
  alreadyExistsError(groupResourceOf(definition), name);

async function nameTakenError(
  store: StoreContext,
  namespace: string,
  name: string,
  errorOf: (store: StoreContext, name: string) => ApiError,
): Promise<ApiError> {
  const existing = store.view.get(store.keys.of(namespace, name));
  const taken = errorOf(store, name);
  const { metadata } = existing?.read(readDeletion) ?? {};
  if (!isJsonObject(metadata) || metadata["deletionTimestamp"] === undefined) return taken;
  return new ApiError({ ...statusOf(taken), message: `object is being deleted: ${taken.message}` });
}

function namesExhaustedError(store: StoreContext, name: string): ApiError {
  const taken = takenError(store, name);
  return new ApiError({
    ...statusOf(taken),
    message: `${taken.message}, the server was not able to generate a unique name for the object`,
    details: { ...taken.details, retryAfterSeconds: 1 },
  });
}

const statusOf = ({ code, reason, details }: ApiError) => ({
  code,
  reason,
  ...(details === undefined ? {} : { details }),
});

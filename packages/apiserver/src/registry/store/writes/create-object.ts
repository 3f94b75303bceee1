// Creates an object: names it, runs the strategy and admission, and stores it.
// Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go (Create), pkg/registry/rest/create.go

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError, alreadyExistsError, untypedError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { generateName } from "@postern/apimachinery/names/generate-name";
import { CachedObject } from "../../../cache/cached-object.ts";
import { createMemberReader } from "../../../cache/read-members.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import { type Awaitable, whenDone } from "../../../runtime/awaitable.ts";
import { KeyExistsError } from "../../../storage/storage-errors.ts";
import { groupResourceOf } from "../../resource-definition.ts";
import type { WriteOptions } from "../../resource-storage.ts";
import { throwStorageFailure } from "../storage-failure.ts";
import type { StoreContext } from "../store-context.ts";
import { admit, confirm, warnOfFinalizers } from "./admit-write.ts";
import { commitPhases, contentOf, rehearsalPhases, runHook, seal } from "./commit.ts";
import { withoutStatus } from "./merge-subresource.ts";
import { metaForCreate, withMeta } from "./object-meta.ts";
import { runPhases } from "./run-phases.ts";
import { VALIDATE_NEW } from "./validate-object.ts";
import { resultOf, runWrite, Write, type WriteParts, type WritePhase } from "./write.ts";

class Creation extends Write {
  /** As admission has left it. */
  readonly admitted: KubeObject;

  constructor(parts: WriteParts) {
    super(parts);
    this.admitted = parts.object;
  }
}

const ADMIT: readonly WritePhase[] = [admit];
/** From an object with a name to one that may be stored. */
const PREPARE: readonly WritePhase<Creation>[] = [
  stamp,
  prepareForCreate,
  ...VALIDATE_NEW,
  warnOfFinalizers,
  warnOnCreate,
  confirm,
  refuseVersion,
  seal,
];
const STORE = commitPhases((write) => write.store.storage.create(write.key, write.value, contentOf(write)));
const REHEARSE: readonly WritePhase[] = [refuseExisting, ...rehearsalPhases(showUnstored)];
const FINISH: readonly WritePhase[] = [runAfterCreate, reveal];

/** How many generated names are tried before the client has to retry. */
const NAME_ATTEMPTS = 8;

export async function createObject(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  submitted: KubeObject,
  { dryRun }: WriteOptions,
): Promise<CachedObject> {
  const admission = new Write({ store, context, namespace, name: "", object: submitted, dryRun });
  const admitting = runPhases(ADMIT, admission);
  if (admitting !== undefined) await admitting;
  const { object } = admission;
  const wanted = nameOf(store, object, context);
  for (let attempt = 1; ; attempt++) {
    const isGenerated = wanted.name === "" && wanted.prefix !== "";
    const name = isGenerated ? generateName(wanted.prefix, store.runtime.random) : wanted.name;
    const write = new Creation({ store, context, namespace, name, object, dryRun });
    const preparing = runPhases(PREPARE, write);
    if (preparing !== undefined) await preparing;
    try {
      await runWrite(dryRun ? REHEARSE : STORE, write);
    } catch (error) {
      if (!(error instanceof KeyExistsError)) throwStorageFailure(error);
      if (isGenerated && attempt < NAME_ATTEMPTS) continue;
      // As upstream, also an object with a name and generateName gets the error for generated names.
      throw nameTakenError(store, namespace, name, wanted.prefix === "" ? takenError : namesExhaustedError);
    }
    const finishing = dryRun ? undefined : runPhases(FINISH, write);
    if (finishing !== undefined) await finishing;
    return resultOf(write);
  }
}

function nameOf(store: StoreContext, { metadata }: KubeObject, context: RequestContext) {
  const { name = "", generateName: prefix = "" } = metadata;
  if (name !== "" || prefix !== "") return { name, prefix };
  const chosen = store.strategy.nameWhenAbsent?.(context);
  return { name: chosen?.name ?? "", prefix: chosen?.generateName ?? "" };
}

/** Status and system metadata are the server's. */
function stamp(write: Write): void {
  const { definition, runtime } = write.store;
  const metadata = metaForCreate(write.object.metadata, definition, write, runtime);
  write.object = withMeta(withoutStatus(write.object, definition), metadata);
}

function prepareForCreate(write: Write): Awaitable<void> {
  const { store, object, context } = write;
  return whenDone(store.strategy.prepareForCreate?.(object, context), (prepared = object) => {
    write.object = prepared;
  });
}

function warnOnCreate({ store, object, context }: Write): void {
  for (const warning of store.strategy.warningsOnCreate?.(object, context) ?? []) context.warnings.add(warning);
}

/** As upstream has it: a text that is no version at all is dropped. */
function refuseVersion({ admitted }: Creation): void {
  if (Number(admitted.metadata.resourceVersion || 0) > 0) {
    throw untypedError("resourceVersion should not be set on objects to be created");
  }
}

function refuseExisting({ store, key }: Write): void {
  if (store.view.get(key) !== undefined) throw new KeyExistsError(key);
}

function showUnstored(write: Write): void {
  write.result = CachedObject.fromObject(write.key, write.served);
}

function runAfterCreate({ store, context, result }: Write): Promise<void> | undefined {
  const { strategy } = store;
  if (strategy.afterCreate === undefined || result === undefined) return undefined;
  return runHook(store, () => strategy.afterCreate?.(result.decode(), context));
}

/** The answer to a create may show once what is never shown again. */
function reveal(write: Write): void {
  const { store, key, object, result } = write;
  const revealed = result && store.definition.sealed?.reveal?.(result.decode(), object);
  if (revealed !== undefined) write.result = CachedObject.fromObject(key, revealed).decodedAs(revealed);
}

const takenError = ({ definition }: StoreContext, name: string): ApiError =>
  alreadyExistsError(groupResourceOf(definition), name);

const readDeletion = createMemberReader({ metadata: { deletionTimestamp: true } });

function nameTakenError(
  store: StoreContext,
  namespace: string,
  name: string,
  errorOf: (store: StoreContext, name: string) => ApiError,
): ApiError {
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

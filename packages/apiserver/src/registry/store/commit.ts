// The end of every write in the generic store: the object as it is cached, and the hooks that run after the commit.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { withoutManagedFields } from "@postern/structured-merge/managedfields/object-managed-fields";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { RequestContext } from "../../context/request-context.ts";
import { type Awaitable, whenDone } from "../../runtime/awaitable.ts";
import type { StoredEntry } from "../../storage/storage.ts";
import {
  KeyExistsError,
  RevisionConflictError,
  StorageFullError,
  ValueTooLargeError,
} from "../../storage/storage-errors.ts";
import type { Reservation, WriteLimit } from "../strategy.ts";
import { withRevision } from "./object-meta.ts";
import type { StoreContext } from "./store-context.ts";

/** The object of an entry that was just written as `object`, once the cache has it, so that writers read their own writes. */
export function committedObject(
  store: StoreContext,
  entry: StoredEntry,
  object: KubeObject,
  context: RequestContext,
): Awaitable<CachedObject> {
  const { cache, view, codec, parsed } = store;
  return whenDone(cache.waitFor(entry.revision, context), () => {
    // The one that watchers were notified of, with what they have made of it already, unless it is replaced by now.
    const cached = view.get(entry.key);
    const isNewest = cached?.revision === entry.revision;
    return whenDone(isNewest && codec.isAsked !== true ? cached : decodeEntry(store, entry, context), (stored) => {
      if (!codec.isLossless) return stored;
      const written = withRevision(object, entry.revision);
      if (isNewest) parsed.keep(stored, written);
      return stored.decodedAs(written);
    });
  });
}

/** Decodes one entry into the object that clients see. */
export async function decodeEntry(
  { codec }: Pick<StoreContext, "codec">,
  entry: StoredEntry,
  context: RequestContext,
): Promise<CachedObject> {
  const [object] = await codec.decode([entry], context);
  if (object === undefined) throw new Error("a codec decoded less than it was given");
  return object;
}

/** managedFields may make an object too large: they are dropped before the write is refused. */
export const writeDroppingManagedFields = <Written>(
  object: KubeObject,
  write: (object: KubeObject) => Promise<Written>,
): Promise<Written> =>
  write(object).catch((error: unknown) => {
    if (!(error instanceof ValueTooLargeError)) throw error;
    return write(withoutManagedFields(object));
  });

/** For a dry run: throws as the write would if there is no room for the object, and returns it otherwise. `prepared` is what reservations are for. */
export async function rehearseWrite(
  { codec, storage, strategy }: StoreContext,
  context: RequestContext,
  key: string,
  prepared: KubeObject,
  object: KubeObject,
  sealed: JsonObject | undefined,
  kind: "create" | "update",
): Promise<KubeObject> {
  await strategy.rehearseReserve?.(prepared, context);
  if (context.isLong) await context.pause();
  await storage.checkRoom(key, await codec.encode(object, sealed, context), kind);
  return object;
}

/** Writes an object when all that its strategy counts lets it. `old` is what an update starts from. */
export function writeWithinLimits(
  store: StoreContext,
  context: RequestContext,
  object: KubeObject,
  old: KubeObject | undefined,
  write: () => Promise<CachedObject>,
): Promise<CachedObject> {
  const limits = store.strategy.limits?.(object, old, context) ?? NO_LIMITS;
  return limits.length === 0 ? write() : writeWithin(limits, store, write);
}

async function writeWithin(
  limits: readonly WriteLimit[],
  store: StoreContext,
  write: () => Promise<CachedObject>,
): Promise<CachedObject> {
  // Two writes that wait for each other would wait for ever: all lock the names in one order, and each name once.
  const names = [...new Set(limits.map(({ name }) => name))].sort();
  const held: string[] = [];
  try {
    for (const name of names) {
      await store.limitLocks.acquire(name);
      held.push(name);
    }
    await checkLimits(limits);
    return await write().catch(async (error: unknown) => {
      // It may have been stored before it failed, as when the client went away: the next one has to count it.
      if (!isNotWritten(error)) await store.cache.refresh().catch(() => {});
      throw error;
    });
  } finally {
    for (const name of held) store.limitLocks.release(name);
  }
}

/** Throws the ApiError of the first limit that has no share left. */
export async function checkLimits(limits: readonly WriteLimit[] = NO_LIMITS): Promise<void> {
  for (const limit of limits) await limit.check();
}

const NO_LIMITS: readonly WriteLimit[] = [];

/** Writes an object with what its strategy reserves for it. */
export function writeReserved(
  store: StoreContext,
  context: RequestContext,
  object: KubeObject,
  write: () => Promise<CachedObject>,
): Promise<CachedObject> {
  const reserving = store.strategy.reserve?.(object, context);
  return reserving === undefined ? write() : writeWith(reserving, store, write);
}

async function writeWith(
  reserving: Promise<Reservation>,
  store: StoreContext,
  write: () => Promise<CachedObject>,
): Promise<CachedObject> {
  const reservation = await reserving;
  let written: CachedObject;
  try {
    written = await write();
  } catch (error) {
    // After any other failure it is unknown whether the store has written the object.
    if (isNotWritten(error)) await runHook(store, () => reservation.release());
    throw error;
  }
  await runHook(store, () => reservation.keep());
  return written;
}

const NOT_WRITTEN = [KeyExistsError, RevisionConflictError, ValueTooLargeError, StorageFullError] as const;
const isNotWritten = (error: unknown): boolean => NOT_WRITTEN.some((refused) => error instanceof refused);

/** Runs after the write: a failure cannot fail the request any more. */
export function runHook(
  { onHookError }: StoreContext,
  hook: () => void | Promise<void> | undefined,
): Promise<void> | undefined {
  try {
    const running = hook();
    return running instanceof Promise ? running.catch(onHookError) : undefined;
  } catch (error) {
    onHookError(error);
    return undefined;
  }
}

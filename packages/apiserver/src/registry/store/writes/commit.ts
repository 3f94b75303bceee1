// The last phases of a create or update, from its share of each limit to the object as memory has it, and the same for a dry run.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { withoutManagedFields } from "@postern/structured-merge/managedfields/object-managed-fields";
import type { CachedObject } from "../../../cache/cached-object.ts";
import type { StoredContent } from "../../../cache/watch-cache.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import { type Awaitable, whenDone } from "../../../runtime/awaitable.ts";
import type { Revision, StoredEntry } from "../../../storage/storage.ts";
import {
  KeyExistsError,
  RevisionConflictError,
  StorageFullError,
  ValueTooLargeError,
} from "../../../storage/storage-errors.ts";
import type { WriteLimit } from "../../strategy.ts";
import type { StoreContext } from "../store-context.ts";
import { withRevision } from "./object-meta.ts";
import { runPhases } from "./run-phases.ts";
import type { Write, WritePhase } from "./write.ts";

/** The phases that write an object. `send` asks the store for it. */
export const commitPhases = <W extends Write>(send: (write: W) => Promise<Revision>): readonly WritePhase<W>[] => [
  lockLimits,
  reserve,
  encode,
  orWithoutManagedFields(sendWith(send)),
];

/** The same for a dry run: they throw as the write would, and take nothing. `setResult` sets the answer. */
export const rehearsalPhases = <W extends Write>(setResult: WritePhase<W>): readonly WritePhase<W>[] => [
  checkLimits,
  rehearseReserve,
  encode,
  orWithoutManagedFields(checkRoom),
  setResult,
];

/** Splits the object into what is served and what is kept beside it, unseen. */
export function seal(write: Write): void {
  const { store, context, object, old, oldSealed } = write;
  const parts = store.definition.sealed?.seal(object, oldSealed, context, old);
  write.served = parts?.object ?? object;
  write.sealed = parts === undefined ? oldSealed : parts.sealed;
}

const limitsOf = ({ store, object, old, context }: Write) => store.strategy.limits?.(object, old, context) ?? [];

export async function checkLimits(write: Write): Promise<void> {
  for (const limit of limitsOf(write)) await limit.check();
}

/** Other writes under the same limits wait until this one has ended. */
function lockLimits(write: Write): Promise<void> | undefined {
  const limits = limitsOf(write);
  return limits.length === 0 ? undefined : lockEach(write, limits);
}

async function lockEach(write: Write, limits: readonly WriteLimit[]): Promise<void> {
  const { limitLocks, cache } = write.store;
  write.onEnd(await limitLocks.hold(limits.map(({ name }) => name)));
  for (const limit of limits) await limit.check();
  // It may have been stored before it failed, as when the client went away: the next one has to count it.
  write.onEnd((error) => (isUnknown(write, error) ? cache.refresh().catch(ignore) : undefined));
}

const ignore = (): void => undefined;

function reserve(write: Write): Promise<void> | undefined {
  const { store, object, context } = write;
  return store.strategy.reserve?.(object, context)?.then((reservation) =>
    write.onEnd((error) => {
      if (error === undefined) return runHook(store, () => reservation.keep());
      return isUnknown(write, error) ? undefined : runHook(store, () => reservation.release());
    }),
  );
}

const rehearseReserve = ({ store, object, context }: Write): Promise<void> | undefined =>
  store.strategy.rehearseReserve?.(object, context);

/** Managed fields may make an object too large: they are dropped before it is refused. */
const orWithoutManagedFields =
  <W extends Write>(phase: WritePhase<W>): WritePhase<W> =>
  async (write) => {
    try {
      await phase(write);
    } catch (error) {
      if (write.keepsManagedFields || !(error instanceof ValueTooLargeError)) throw error;
      write.served = withoutManagedFields(write.served);
      write.isSent = false;
      await runPhases([encode, phase], write);
    }
  };

function encode(write: Write): Awaitable<void> {
  return whenDone(write.store.codec.encode(write.served, write.sealed, write.context), (value) => {
    write.value = value;
  });
}

const checkRoom = ({ store, key, value, old }: Write): Promise<void> =>
  store.storage.checkRoom(key, value, old === undefined ? "create" : "update");

const sendWith =
  <W extends Write>(send: (write: W) => Promise<Revision>): WritePhase<W> =>
  async (write) => {
    const { store, context, key, value, served } = write;
    write.isSent = true;
    const revision = await send(write);
    const made = committedObject(store, { key, value, revision }, served, context);
    write.result = made instanceof Promise ? await made : made;
  };

/** The parts of the object at hand, for the event of the write. */
export const contentOf = ({ store, served: object, sealed }: Write): StoredContent | undefined =>
  store.codec.isVerbatim === true ? { object, sealed } : undefined;

const NOT_WRITTEN = [KeyExistsError, RevisionConflictError, ValueTooLargeError, StorageFullError] as const;

/** Whether the store may have written the object although the write has failed. */
const isUnknown = ({ isSent }: Write, error: unknown): boolean =>
  isSent && error !== undefined && !NOT_WRITTEN.some((refused) => error instanceof refused);

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

/** Runs after the write: a failure cannot fail the request any more. */
export async function runHook({ onHookError }: StoreContext, hook: () => void | Promise<void>): Promise<void> {
  try {
    await hook();
  } catch (error) {
    onHookError(error);
  }
}

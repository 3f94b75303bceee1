// What every write of the generic store ends with: the object as memory shows it, and the hooks that run after it.

import { withoutManagedFields } from "@postern/apimachinery/managedfields/object-managed-fields";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { StoredEntry } from "../../storage/storage.ts";
import { ValueTooLargeError } from "../../storage/storage-errors.ts";
import type { StoreContext } from "./store-context.ts";

/** The object of an entry that was just written, once memory shows it, so that whoever wrote it reads it from then on. */
export async function committedObject(
  { cache, view, codec }: StoreContext,
  entry: StoredEntry,
  signal: AbortSignal,
): Promise<CachedObject> {
  await cache.waitFor(entry.revision, { signal });
  // The one that watchers were told of, with what they have made of it already, unless it is replaced by now.
  const cached = view.get(entry.key);
  return cached?.revision === entry.revision ? cached : codec.decode(entry);
}

/** What tells owners may be what makes an object too large: it is given up before the write is. */
export const writeWithoutOwnersAtNeed = (
  object: KubeObject,
  write: (object: KubeObject) => Promise<CachedObject>,
): Promise<CachedObject> =>
  write(object).catch((error: unknown) => {
    if (!(error instanceof ValueTooLargeError)) throw error;
    return write(withoutManagedFields(object));
  });

/** What fails after a write cannot fail the request any more. */
export async function runHook(
  { onHookError }: StoreContext,
  hook: () => void | Promise<void> | undefined,
): Promise<void> {
  try {
    await hook();
  } catch (error) {
    onHookError(error);
  }
}

// Rotations of CAs as all servers know them: a record for each CA that was ever rotated, without secrets, followed in memory.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { type CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/view-informer";
import { KeyExistsError, RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import type { Foundation } from "../../foundation/foundation.ts";

export type RotationState = {
  /** Of the newest CA. */
  readonly generation: number;
  readonly phase: "Prepared" | "Completed" | "Aborted";
};

export type RotationStates = Disposable & {
  /** By the uid of a cluster. Undefined: it was never rotated. */
  of(id: string): RotationState | undefined;
  /** Calls back in the turn in which memory knows of the change. */
  onChange(listener: (id: string) => void): Disposable;
  /** Resolves when memory shows it. Writes also what is known already: others may not have acted on it. */
  publish(id: string, state: RotationState): Promise<void>;
  forget(id: string): Promise<void>;
};

export function openRotationStates({
  records,
  storage,
  cache,
  runtime: { scheduler },
}: Pick<Foundation, "records" | "storage" | "cache" | "runtime">): RotationStates {
  const { view, prefix } = records("authority-rotations");
  const known = new Map<string, RotationState>();
  const listeners = new Set<(id: string) => void>();
  const idOf = ({ key }: CachedObject): string => key.slice(prefix.length);
  const tell = (id: string): void => {
    for (const listener of [...listeners]) listener(id);
  };
  const following = followView({ view, prefix }, scheduler, {
    replace(objects) {
      const before = [...known.keys()];
      known.clear();
      for (const object of objects) known.set(idOf(object), decodeState(object));
      for (const id of new Set([...before, ...known.keys()])) tell(id);
    },
    put(object) {
      known.set(idOf(object), decodeState(object));
      tell(idOf(object));
    },
    delete(object) {
      known.delete(idOf(object));
      tell(idOf(object));
    },
  });
  return {
    of: (id) => known.get(id),
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    async publish(id, state) {
      const key = `${prefix}${id}`;
      const value = encodeStoredValue({
        apiVersion: "v1",
        kind: "AuthorityRotation",
        metadata: { name: id },
        rotation: state,
      });
      for (;;) {
        const entry = await storage.get(key);
        try {
          const revision =
            entry === undefined ? await storage.create(key, value) : await storage.update(key, value, entry.revision);
          await cache.waitFor(revision);
          return;
        } catch (error) {
          if (!(error instanceof KeyExistsError) && !(error instanceof RevisionConflictError)) throw error;
        }
      }
    },
    async forget(id) {
      const entry = await storage.get(`${prefix}${id}`);
      if (entry === undefined) return;
      await storage.delete(entry.key, entry.revision).catch((error: unknown) => {
        // Another server deleted it, or a rotation was faster: the next attempt of the deletion finds it.
        if (!(error instanceof RevisionConflictError)) throw error;
      });
    },
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

function decodeState(object: CachedObject): RotationState {
  const { rotation } = object.decode();
  const { generation, phase } = isJsonObject(rotation) ? rotation : {};
  return {
    generation: typeof generation === "number" ? generation : 1,
    phase: phase === "Prepared" || phase === "Aborted" ? phase : "Completed",
  };
}

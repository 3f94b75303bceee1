// Counts the requests of keys with spec.maxUses in the object of the key. A request is served when its use is in the store: the sum over all servers is
// exact, and a use whose write is uncertain counts.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import { RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import type { Foundation } from "../../foundation/foundation.ts";
import type { AccessKeyState } from "./access-key-state.ts";
import type { KeyRefusal } from "./validity/ready-reasons.ts";

type CountedKey = Pick<AccessKeyState, "name" | "uid">;

export type KeyUses = {
  /** Resolves with why there is no further use of the key; undefined when one was counted. Rejects where it could not be written. */
  take(key: CountedKey): Promise<KeyRefusal | undefined>;
};

/** Why a key authenticates no further request; undefined where it does. */
export const usesRefusal = ({ maxUses, uses = 0 }: Pick<AccessKeyState, "maxUses" | "uses">): KeyRefusal | undefined =>
  maxUses === undefined || uses < maxUses
    ? undefined
    : { reason: "UsesExhausted", message: `used ${uses} times, and spec.maxUses is ${maxUses}` };

const GONE: KeyRefusal = { reason: "Unknown", message: "deleted" };

/** Keys whose uses are written at the same time: those of one key share a write anyway. */
const MAX_WRITES = 16;

type Waiting = {
  readonly resolve: (refusal: KeyRefusal | undefined) => void;
  readonly reject: (error: unknown) => void;
};

/** The records are those of `ownedaccesskeys`. */
export function createKeyUses(
  { view, prefix }: ViewPrefix,
  { cache, storage }: Pick<Foundation, "cache" | "storage">,
): KeyUses {
  /** By uid, in the order in which they came; a uid is there once while its uses are being written. */
  const waiting = new Map<string, { readonly key: CountedKey; readonly uses: Waiting[] }>();
  const idle: string[] = [];
  let writes = 0;

  function writeNext(): void {
    while (writes < MAX_WRITES) {
      const uid = idle.shift();
      const next = uid === undefined ? undefined : waiting.get(uid);
      if (uid === undefined || next === undefined) return;
      writes += 1;
      void writeBatch(next.key, next.uses.splice(0)).finally(() => {
        writes -= 1;
        // Behind the other keys, so that no key keeps them waiting.
        if (next.uses.length > 0) idle.push(uid);
        else waiting.delete(uid);
        writeNext();
      });
    }
  }

  async function writeBatch(key: CountedKey, batch: readonly Waiting[]): Promise<void> {
    try {
      const { granted, refusal } = await count(key, batch.length);
      for (const [at, use] of batch.entries()) use.resolve(at < granted ? undefined : refusal);
    } catch (error) {
      for (const use of batch) use.reject(error);
    }
  }

  /** Each conflict is a write of another client, or of another server that counted a use. */
  async function count(
    { name, uid }: CountedKey,
    wanted: number,
  ): Promise<{ readonly granted: number; readonly refusal: KeyRefusal | undefined }> {
    let current = view.get(prefix + name);
    for (;;) {
      const object = current?.decode();
      if (current === undefined || object === undefined || object.metadata.uid !== uid)
        return { granted: 0, refusal: GONE };
      const { maxUses, uses } = usesIn(object);
      const granted = maxUses === undefined ? wanted : Math.min(wanted, Math.max(0, maxUses - uses));
      const refusal = usesRefusal({ maxUses, uses: uses + granted });
      if (granted === 0 || maxUses === undefined) return { granted, refusal };
      try {
        const value = encodeStoredValue(withUses(object, uses + granted), current.decodeSealed());
        await cache.waitFor(await storage.update(current.key, value, current.revision));
        return { granted, refusal };
      } catch (error) {
        if (!(error instanceof RevisionConflictError)) throw error;
        current = error.current === undefined ? undefined : CachedObject.fromEntry(error.current);
      }
    }
  }

  return {
    take: (key) =>
      new Promise((resolve, reject) => {
        const known = waiting.get(key.uid);
        if (known !== undefined) {
          known.uses.push({ resolve, reject });
          return;
        }
        waiting.set(key.uid, { key, uses: [{ resolve, reject }] });
        idle.push(key.uid);
        writeNext();
      }),
  };
}

const membersOf = (object: KubeObject, member: "spec" | "status"): JsonObject => {
  const value = object[member];
  return isJsonObject(value) ? value : {};
};

function usesIn(object: KubeObject): { readonly maxUses: number | undefined; readonly uses: number } {
  const { maxUses } = membersOf(object, "spec");
  const { uses } = membersOf(object, "status");
  return { maxUses: maxUses === undefined ? undefined : Number(maxUses), uses: Number(uses ?? 0) };
}

const withUses = (object: KubeObject, uses: number): KubeObject => ({
  ...object,
  status: { ...membersOf(object, "status"), uses },
});

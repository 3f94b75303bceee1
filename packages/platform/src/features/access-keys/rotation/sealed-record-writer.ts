// Changes only the sealed part of an access key: without admission, field managers, or a new generation.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import { RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import type { Foundation } from "../../../foundation/foundation.ts";
import { readSealedAccessKey, type SealedAccessKey, writeSealedAccessKey } from "../record/sealed-access-key.ts";

export type SealedRecordWriter = {
  /**
   * Writes what `change` makes of the hidden part; undefined from it writes nothing. It is called again after a conflict. The written change is in
   * force when it resolves. Resolves with false where the key is gone.
   */
  write(
    key: { readonly name: string; readonly uid: string },
    change: (sealed: SealedAccessKey, object: KubeObject) => SealedAccessKey | undefined,
  ): Promise<boolean>;
};

const ATTEMPTS = 10;

/** The records are those of `ownedaccesskeys`. */
export function createSealedRecordWriter(
  { view, prefix }: ViewPrefix,
  { cache, storage }: Pick<Foundation, "cache" | "storage">,
): SealedRecordWriter {
  return {
    async write({ name, uid }, change) {
      let current = view.get(prefix + name);
      for (let attempt = 1; current !== undefined; attempt++) {
        const object = current.decode();
        if (object.metadata.uid !== uid) return false;
        const sealed = change(readSealedAccessKey(current.decodeSealed()), object);
        if (sealed === undefined) return true;
        try {
          const value = encodeStoredValue(object, writeSealedAccessKey(sealed));
          await cache.waitFor(await storage.update(current.key, value, current.revision));
          return true;
        } catch (error) {
          if (!(error instanceof RevisionConflictError) || attempt === ATTEMPTS) throw error;
          current = error.current === undefined ? undefined : CachedObject.fromEntry(error.current);
        }
      }
      return false;
    },
  };
}

// Writes records of certificates, and deletes expired ones, while other servers do the same.

import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { Storage } from "@postern/apiserver/storage/storage";
import { putUnlessConflict, unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import { encodeCertificate, type IssuedCertificate } from "./issued-certificate.ts";

type CertificateRecords = {
  /**
   * Resolves when the cache shows what was written; with false where `change` gives undefined, so that nothing is to be written. It is called again
   * after a conflict.
   */
  write(
    serial: string,
    change: (known: IssuedCertificate | undefined) => IssuedCertificate | undefined,
  ): Promise<boolean>;
  forget(certificates: readonly IssuedCertificate[]): Promise<void>;
};

/** `knownOf` gives what the cache shows of a certificate. */
export function createCertificateRecords(
  deps: ViewPrefix & { readonly storage: Storage; readonly cache: WatchCache },
  knownOf: (serial: string) => IssuedCertificate | undefined,
): CertificateRecords {
  const { view, prefix, storage, cache } = deps;
  const keyOf = (serial: string): string => `${prefix}${serial.toLowerCase()}`;
  return {
    async write(serial, change) {
      // A certificate that the cache does not show is most likely new: the store knows when it is written.
      let isNew = knownOf(serial) === undefined;
      for (;;) {
        const entry = isNew ? undefined : await storage.get(keyOf(serial));
        if (entry !== undefined) await cache.waitFor(entry.revision);
        const next = change(entry === undefined ? undefined : knownOf(serial));
        if (next === undefined && isNew) {
          isNew = false;
          continue;
        }
        if (next === undefined) return false;
        const revision = await putUnlessConflict(storage, keyOf(serial), encodeCertificate(next), entry);
        if (revision !== undefined) {
          await cache.waitFor(revision);
          return true;
        }
        isNew = false;
      }
    },
    async forget(certificates) {
      for (const { serial } of certificates) {
        const known = view.get(keyOf(serial));
        // Another server may be doing the same.
        if (known === undefined) continue;
        const revision = await unlessConflict(storage.delete(known.key, known.revision));
        if (revision !== undefined) await cache.waitFor(revision);
      }
    },
  };
}

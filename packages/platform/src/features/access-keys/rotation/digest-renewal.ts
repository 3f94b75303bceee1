// Renews the digest of an access key under the primary key of the ring when the key is used: only then is its value known.

import type { KeyRing } from "../../../foundation/encryption/key-ring.ts";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import type { RetiredValue } from "../record/sealed-access-key.ts";
import type { AccessKeySecrets, KeptAccessKey } from "../secrets/access-key-secrets.ts";
import type { SealedRecordWriter } from "./sealed-record-writer.ts";

export type DigestRenewal = {
  readonly keyRing: Pick<KeyRing, "keys">;
  /**
   * The value was presented, belongs to the key, and is valid. True if nothing is to be renewed, which remains so for this revision of the key while
   * `keyRing.keys` is the same array.
   */
  used(key: AccessKeyState, value: string): boolean;
};

/** Writes at a time: after a rotation every key is used for the first time. The others wait for their next use. */
const MAX_AT_ONCE = 64;

/** After an error it is tried again at the next use. */
export function createDigestRenewal(
  { keyRing, onError }: Foundation,
  secrets: AccessKeySecrets,
  writer: SealedRecordWriter,
): DigestRenewal {
  const running = new Set<string>();

  async function write(key: AccessKeyState, old: KeptAccessKey, renewed: KeptAccessKey): Promise<void> {
    const isOld = ({ id, digest }: KeptAccessKey): boolean => id === old.id && digest === old.digest;
    await writer.write(key, (sealed) => {
      if (sealed.key !== undefined && isOld(sealed.key)) return { ...sealed, key: renewed };
      if (!sealed.retired.some(isOld)) return undefined;
      const retired = sealed.retired.map((value) => (isOld(value) ? { ...restOf(value), ...renewed } : value));
      return { ...sealed, retired };
    });
  }

  return {
    keyRing,
    used(key, value) {
      const { id, kept } = key;
      if (secrets.isCurrent(key.ringKey)) return true;
      if (kept === undefined || running.size >= MAX_AT_ONCE || running.has(id)) return false;
      // The digest waits for the store, never the value.
      const renewed = secrets.renew(kept, value);
      if (renewed === undefined) return false;
      running.add(id);
      void write(key, kept, renewed)
        .catch((error: unknown) => onError(error, "digest-renewal"))
        .finally(() => running.delete(id));
      return false;
    },
  };
}

const restOf = ({ ringKey: _, ...rest }: RetiredValue): Omit<RetiredValue, "ringKey"> => rest;

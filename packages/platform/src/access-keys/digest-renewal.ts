// Puts the digest of an access key under the primary key of the ring when the key is used: only then its value is known.

import type { AccessKeySecrets, KeptAccessKey } from "./access-key-secrets.ts";
import type { AccessKeyState } from "./access-key-state.ts";
import type { SealedRecordWriter } from "./rotation/sealed-record-writer.ts";
import type { RetiredValue } from "./sealed-access-key.ts";

export type DigestRenewal = {
  /** The value was presented, is that of the key, and is good. Costs nothing where there is nothing to renew. */
  used(key: AccessKeyState, value: string): void;
};

export type DigestRenewalOptions = {
  readonly secrets: Pick<AccessKeySecrets, "isCurrent" | "renew">;
  readonly writer: SealedRecordWriter;
  /** It is tried again at the next use. */
  readonly onError: (error: unknown) => void;
};

/** So many writes at a time: after a rotation every key is used for the first time. The others wait for their next use. */
const MAX_AT_ONCE = 64;

export function createDigestRenewal({ secrets, writer, onError }: DigestRenewalOptions): DigestRenewal {
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
    used(key, value) {
      const { id, kept } = key;
      if (kept === undefined || secrets.isCurrent(kept.ringKey) || running.size >= MAX_AT_ONCE || running.has(id))
        return;
      // What waits for the store is the digest, never the value.
      const renewed = secrets.renew(kept, value);
      if (renewed === undefined) return;
      running.add(id);
      void write(key, kept, renewed)
        .catch(onError)
        .finally(() => running.delete(id));
    },
  };
}

const restOf = ({ ringKey: _, ...rest }: RetiredValue): Omit<RetiredValue, "ringKey"> => rest;

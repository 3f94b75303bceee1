// The key ring: the newest key encrypts all writes, and all keys decrypt.

import { createHash, hkdfSync } from "node:crypto";

/** One secret of the ring, as the keys that are derived from it: each has one purpose. */
export type RingKey = {
  /** Stored with each value to identify its key. Reveals nothing about the secret. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The first that the ring ever had: digests of access keys that name no key are under it. */
  readonly isFirst: boolean;
  /** Access keys are kept as HMACs under it, and their login data is sealed under it. */
  readonly accessKeys: Uint8Array;
  /** Key that seals the server's own records, such as the authorities of virtual clusters. */
  readonly internalRecords: Uint8Array;
  /** Whole objects that hold secrets are sealed under it. */
  readonly values: Uint8Array;
};

export type KeyRing = {
  /** The newest first, which is the primary one. Another array whenever something has changed. */
  readonly keys: readonly [RingKey, ...RingKey[]];
  find(id: string): RingKey | undefined;
  /** Looks for new keys, when an id is not on the ring. */
  refresh(): Promise<void>;
};

/** A ring secret as it is kept. */
export type RingSecret = Pick<RingKey, "createdAt" | "isFirst"> & {
  /** 32 bytes. */
  readonly secret: Uint8Array;
};

const KEY_BYTES = 32;
const ID_LENGTH = 8;

export function deriveRingKey({ secret, createdAt, isFirst }: RingSecret): RingKey {
  return {
    id: createHash("sha256").update(deriveKey(secret, "key id")).digest("hex").slice(0, ID_LENGTH),
    createdAt,
    isFirst,
    accessKeys: deriveKey(secret, "access keys"),
    internalRecords: deriveKey(secret, "internal records"),
    values: deriveKey(secret, "values"),
  };
}

/** 32 bytes for one purpose. */
export const deriveKey = (secret: Uint8Array, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret, "", `postern ${purpose}`, KEY_BYTES));

/** A ring with one key that stays as it is. */
export function createFixedKeyRing(secret: Uint8Array): KeyRing {
  const key = deriveRingKey({ secret, createdAt: 0, isFirst: true });
  return { keys: [key], find: (id) => (id === key.id ? key : undefined), refresh: async () => {} };
}

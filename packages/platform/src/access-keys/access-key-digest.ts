// The only form in which a key is kept: a keyed hash, useless without the server key, which is not in the store.

import { createHmac, timingSafeEqual } from "node:crypto";

/** HMAC-SHA-256 of a key under the server key. */
export const accessKeyDigest = (serverKey: Uint8Array, value: string): Uint8Array =>
  createHmac("sha256", serverKey).update(value, "utf8").digest();

/** Takes the same time wherever the two differ. */
export const sameDigest = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);

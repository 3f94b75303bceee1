// The only form in which the store keeps a key: a keyed hash, useless without the server key, which is not in the store.

import { hash, timingSafeEqual } from "node:crypto";

/** Block length of SHA-256, in bytes. */
const BLOCK_LENGTH = 64;

type Pads = { readonly inner: Uint8Array; readonly outer: Uint8Array };

const padsByKey = new WeakMap<Uint8Array, Pads>();

/**
 * HMAC-SHA-256 of a key under the server key, which has 64 bytes at most. Put together from two hashes, since it is made for every request,
 * and each `Hmac` of Node is an object that outlives the request. Source: RFC 2104.
 */
export function accessKeyDigest(serverKey: Uint8Array, value: string): Uint8Array {
  const { inner, outer } = padsOf(serverKey);
  return sha256(outer, sha256(inner, Buffer.from(value)));
}

function padsOf(serverKey: Uint8Array): Pads {
  const known = padsByKey.get(serverKey);
  if (known !== undefined) return known;
  if (serverKey.length > BLOCK_LENGTH) throw new RangeError(`a server key has ${BLOCK_LENGTH} bytes at most`);
  const pads = { inner: padded(serverKey, 0x36), outer: padded(serverKey, 0x5c) };
  padsByKey.set(serverKey, pads);
  return pads;
}

const padded = (key: Uint8Array, filler: number): Uint8Array =>
  Uint8Array.from({ length: BLOCK_LENGTH }, (_, at) => (key[at] ?? 0) ^ filler);

/** Node hands hexadecimal out quicker than bytes. */
const sha256 = (head: Uint8Array, tail: Uint8Array): Buffer =>
  Buffer.from(hash("sha256", Buffer.concat([head, tail]), "hex"), "hex");

/** Takes the same time wherever the two differ. */
export const sameDigest = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);

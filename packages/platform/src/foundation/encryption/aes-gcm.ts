// Authenticated encryption: AES-256-GCM with a random nonce in front of the ciphertext.

import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from "node:crypto";
import type { Random } from "@postern/apiserver/runtime/clock";

const ALGORITHM = "aes-256-gcm";
export const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Nonce, ciphertext and tag. `bound` must be the same for it to open again. */
export function sealBytes(key: Uint8Array, bytes: Uint8Array, bound: string, random: Random): Buffer {
  const nonce = random.bytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, keyObjectOf(key), nonce).setAAD(Buffer.from(bound));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** Undefined where it is damaged, is bound to something else, or is under another key. */
export function openBytes(key: Uint8Array, sealed: Uint8Array, bound: string): Buffer | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  try {
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(ALGORITHM, keyObjectOf(key), nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(bound))
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}

const keyObjects = new WeakMap<Uint8Array, KeyObject>();

/** Key objects are made once: from bytes, Node would make one for each text, which takes several times as long as encrypting it. */
function keyObjectOf(key: Uint8Array): KeyObject {
  const known = keyObjects.get(key);
  if (known !== undefined) return known;
  const made = createSecretKey(key);
  keyObjects.set(key, made);
  return made;
}

// Encrypts a stream in chunks that cannot be changed, omitted, reordered or truncated unnoticed. The construction is STREAM (Hoang, Reyhanitabar,
// Rogaway and Vizár, 2015) over AES-256-GCM.

import { createCipheriv, createDecipheriv, createHash, createSecretKey } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export type ChunkSealer = { seal(chunk: Uint8Array, isLast: boolean): Uint8Array };
export type ChunkOpener = {
  /** Undefined where this is not the chunk that was sealed at this place, under this key and head. */
  open(sealed: Uint8Array, isLast: boolean): Uint8Array | undefined;
};

/** `key` must not be used for another stream. `head` is the data before the chunks. */
export function createChunkSealer(key: Uint8Array, head: Uint8Array): ChunkSealer {
  const associated = digestOf(head);
  const secret = createSecretKey(key);
  let index = 0;
  return {
    seal(chunk, isLast) {
      const cipher = createCipheriv(ALGORITHM, secret, nonceOf(index++, isLast)).setAAD(associated);
      return Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()]);
    },
  };
}

export function createChunkOpener(key: Uint8Array, head: Uint8Array): ChunkOpener {
  const associated = digestOf(head);
  const secret = createSecretKey(key);
  let index = 0;
  return {
    open(sealed, isLast) {
      if (sealed.length < TAG_BYTES) return undefined;
      const decipher = createDecipheriv(ALGORITHM, secret, nonceOf(index++, isLast), { authTagLength: TAG_BYTES })
        .setAAD(associated)
        .setAuthTag(sealed.subarray(-TAG_BYTES));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
      } catch {
        return undefined;
      }
    },
  };
}

/** The place of the chunk, and whether it is the last one. */
function nonceOf(index: number, isLast: boolean): Uint8Array {
  const nonce = Buffer.alloc(NONCE_BYTES);
  nonce.writeUIntBE(index, NONCE_BYTES - 7, 6);
  nonce.writeUInt8(isLast ? 1 : 0, NONCE_BYTES - 1);
  return nonce;
}

const digestOf = (head: Uint8Array): Uint8Array => createHash("sha256").update(head).digest();

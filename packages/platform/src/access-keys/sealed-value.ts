// Envelopes for what has to come back out of the store but must never be served: AES-256-GCM under keys derived from the server key.

import { createCipheriv, createDecipheriv, createHash, hkdfSync } from "node:crypto";
import type { Random } from "@postern/apiserver/runtime/clock";

export type SealedValues = {
  /** `purpose` is bound into the envelope: it opens for the same purpose alone. */
  seal(text: string, purpose: string): string;
  /** Undefined when the envelope is damaged, was made for something else, or under a key that is not on the ring. */
  open(envelope: string, purpose: string): string | undefined;
};

const VERSION = "v1";
const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

type RingKey = { readonly id: string; readonly key: Uint8Array };

/**
 * An envelope is `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two in base64url. The first server key seals; all of them
 * open, so that a key is rotated by putting the new one in front.
 */
export function createSealedValues(
  serverKeys: readonly [Uint8Array, ...(readonly Uint8Array[])],
  random: Random,
): SealedValues {
  const [first, ...others] = serverKeys;
  const current = ringKey(first);
  const ring = new Map([current, ...others.map(ringKey)].map((entry) => [entry.id, entry.key]));
  return {
    seal(text, purpose) {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, current.key, nonce).setAAD(Buffer.from(purpose));
      const bytes = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return [VERSION, current.id, Buffer.from(nonce).toString("base64url"), bytes.toString("base64url")].join(".");
    },
    open(envelope, purpose) {
      const [version, id = "", nonce = "", text = ""] = envelope.split(".");
      const key = ring.get(id);
      if (version !== VERSION || key === undefined) return undefined;
      const bytes = Buffer.from(text, "base64url");
      if (bytes.length < TAG_BYTES) return undefined;
      try {
        const decipher = createDecipheriv(ALGORITHM, key, Buffer.from(nonce, "base64url"), { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(purpose))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString("utf8");
      } catch {
        return undefined;
      }
    },
  };
}

function ringKey(serverKey: Uint8Array): RingKey {
  const key = new Uint8Array(hkdfSync("sha256", serverKey, new Uint8Array(), "sealed fields v1", 32));
  return { id: createHash("sha256").update(key).digest("hex").slice(0, 8), key };
}

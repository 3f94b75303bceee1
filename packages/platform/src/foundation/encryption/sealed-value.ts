// Envelopes for values that the server decrypts but never serves: AES-256-GCM under keys of the key ring.

import { createHash, hkdfSync } from "node:crypto";
import type { Random } from "@postern/apiserver/runtime/clock";
import { NONCE_BYTES, openBytes, sealBytes } from "./aes-gcm.ts";
import type { KeyRing, RingKey } from "./key-ring.ts";

export type SealedValues = {
  /** `purpose` is bound into the envelope: it opens for the same purpose alone. */
  seal(text: string, purpose: string): string;
  /** Undefined when the envelope is damaged, was made for something else, or under a key that is not on the ring. */
  open(envelope: string, purpose: string): string | undefined;
  /** Whether an envelope is under the primary key. */
  isUnderPrimary(envelope: string): boolean;
};

const VERSION = "v1";

type EnvelopeKey = { readonly id: string; readonly key: Uint8Array };

/**
 * An envelope is `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two in base64url. `pick` chooses, from the keys derived from a secret of the
 * ring, the one for these envelopes.
 */
export function createSealedValues(
  keys: () => KeyRing["keys"],
  pick: (key: RingKey) => Uint8Array,
  random: Random,
): SealedValues {
  const derived = new WeakMap<RingKey, EnvelopeKey>();
  const envelopeKey = (key: RingKey): EnvelopeKey => {
    const known = derived.get(key) ?? deriveEnvelopeKey(pick(key));
    derived.set(key, known);
    return known;
  };
  return {
    seal(text, purpose) {
      const { id, key } = envelopeKey(keys()[0]);
      const sealed = sealBytes(key, Buffer.from(text), purpose, random);
      const parts = [sealed.subarray(0, NONCE_BYTES), sealed.subarray(NONCE_BYTES)];
      return [VERSION, id, ...parts.map((part) => part.toString("base64url"))].join(".");
    },
    open(envelope, purpose) {
      const [version, id, nonce = "", text = ""] = envelope.split(".");
      const found = keys()
        .map(envelopeKey)
        .find((key) => key.id === id);
      const nonceBytes = Buffer.from(nonce, "base64url");
      if (version !== VERSION || found === undefined || nonceBytes.length !== NONCE_BYTES) return undefined;
      return openBytes(found.key, Buffer.concat([nonceBytes, Buffer.from(text, "base64url")]), purpose)?.toString();
    },
    isUnderPrimary: (envelope) => envelope.startsWith(`${VERSION}.${envelopeKey(keys()[0]).id}.`),
  };
}

function deriveEnvelopeKey(secret: Uint8Array): EnvelopeKey {
  const key = new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(), "sealed fields v1", 32));
  return { id: createHash("sha256").update(key).digest("hex").slice(0, 8), key };
}

// Nonces that servers give for DPoP proofs (RFC 9449, section 8): a proof is good for minutes by the clock of the server, and none can be made ahead. They
// are made of the server key, so that every server and thread knows those of all others.

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { deriveKey, type KeyRing, type RingKey } from "../../../foundation/encryption/key-ring.ts";

/** A nonce is accepted in its own period and in the next one. */
export const PERIOD_MS = 120_000;
const MAC_BYTES = 16;
const FORM = /^([0-9a-f]{1,16})\.([0-9a-z]{1,10})\.([\w-]{22})$/;

export type ProofNonces = {
  current(): string;
  /** Undefined for a nonce that is too old, or that no server made. */
  periodOf(nonce: string): number | undefined;
  /** The period of the clock. */
  readonly period: number;
};

export function createProofNonces(keyRing: Pick<KeyRing, "keys" | "find">, clock: Pick<Clock, "now">): ProofNonces {
  const derived = new WeakMap<RingKey, Uint8Array>();
  const secretOf = (key: RingKey): Uint8Array => {
    const known = derived.get(key) ?? deriveKey(key.internalRecords, "nonces of proofs");
    derived.set(key, known);
    return known;
  };
  const macOf = (key: RingKey, period: string): Buffer =>
    createHmac("sha256", secretOf(key)).update(period).digest().subarray(0, MAC_BYTES);
  const now = (): number => Math.floor(clock.now() / PERIOD_MS);
  return {
    get period() {
      return now();
    },
    current() {
      const [key] = keyRing.keys;
      const period = now().toString(36);
      return `${key.id}.${period}.${macOf(key, period).toString("base64url")}`;
    },
    periodOf(nonce) {
      const [, id = "", text = "", mac = ""] = FORM.exec(nonce) ?? [];
      const key = keyRing.find(id);
      if (key === undefined || !timingSafeEqual(macOf(key, text), Buffer.from(mac, "base64url"))) return undefined;
      const period = Number.parseInt(text, 36);
      // Another server's clock may be ahead.
      return Math.abs(now() - period) <= 1 ? period : undefined;
    },
  };
}

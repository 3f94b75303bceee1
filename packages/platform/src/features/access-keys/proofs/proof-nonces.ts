// Nonces that servers give for DPoP proofs (RFC 9449, section 8): a proof is good for minutes by the clock of the server, and none can be made ahead. They
// are made of the server key, so that every server and thread knows those of all others. None is accepted that was made before this server or thread
// started: it does not remember which proofs it took then (ADR 359).

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { deriveKey, type KeyRing, type RingKey } from "../../../foundation/encryption/key-ring.ts";

/** A nonce is accepted in its own period and in the next one. */
export const PERIOD_MS = 120_000;
const MAC_BYTES = 16;
const FORM = /^([0-9a-f]{1,16})\.([0-9a-z]{1,10})\.([\w-]{22})$/;

export type ProofNonces = {
  current(): string;
  /** Undefined for a nonce that is too old, from before the start, or that no server made. */
  periodOf(nonce: string): number | undefined;
  /** The period of the clock. */
  readonly period: number;
};

export function createProofNonces(keyRing: Pick<KeyRing, "keys" | "find">, clock: Clock): ProofNonces {
  const startedAt = clock.elapsed();
  const derived = new WeakMap<RingKey, Uint8Array>();
  const secretOf = (key: RingKey): Uint8Array => {
    const known = derived.get(key) ?? deriveKey(key.internalRecords, "nonces of proofs");
    derived.set(key, known);
    return known;
  };
  const macOf = (key: RingKey, time: string): Buffer =>
    createHmac("sha256", secretOf(key)).update(time).digest().subarray(0, MAC_BYTES);
  const periodAt = (time: number): number => Math.floor(time / PERIOD_MS);
  /** In the time of day that the clock has now: it may have been set since. */
  const started = (): number => clock.now() - (clock.elapsed() - startedAt);
  return {
    get period() {
      return periodAt(clock.now());
    },
    current() {
      const [key] = keyRing.keys;
      const time = clock.now().toString(36);
      return `${key.id}.${time}.${macOf(key, time).toString("base64url")}`;
    },
    periodOf(nonce) {
      const [, id = "", text = "", mac = ""] = FORM.exec(nonce) ?? [];
      const key = keyRing.find(id);
      if (key === undefined || !timingSafeEqual(macOf(key, text), Buffer.from(mac, "base64url"))) return undefined;
      const time = Number.parseInt(text, 36);
      const period = periodAt(time);
      // Another server's clock may be ahead.
      return time >= started() && Math.abs(periodAt(clock.now()) - period) <= 1 ? period : undefined;
    },
  };
}

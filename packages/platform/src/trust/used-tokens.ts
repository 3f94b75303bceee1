// Which tokens were taken already, for rules that take each once: written to the store before a key is issued, so that of two servers one
// takes it, and forgotten when the token has expired.

import { createHash } from "node:crypto";
import { encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { KeyExistsError } from "@postern/apiserver/storage/storage-errors";
import type { ExpiringRecords } from "../store/expiring-records.ts";
import type { TrustRuleState } from "./trust-rule-state.ts";

/** Longer than the clocks of servers may be apart, and than a token is taken after its end. */
const GRACE_MS = 10 * 60_000;

/**
 * Resolves with false where the token was taken before, by whichever server. `expiresAt` in milliseconds since the epoch. The same issuer
 * gives a jti once, whichever rule it is shown to.
 */
export async function markTokenUsed(
  { prefix, storage }: ExpiringRecords,
  { source }: Pick<TrustRuleState, "source">,
  tokenId: string,
  expiresAt: number,
): Promise<boolean> {
  const name = createHash("sha256")
    .update(JSON.stringify([source.issuer, source.id, tokenId]))
    .digest("hex");
  try {
    await storage.create(
      prefix + name,
      encodeStoredValue({ apiVersion: "v1", kind: "TakenToken", metadata: { name }, until: expiresAt + GRACE_MS }),
    );
    return true;
  } catch (error) {
    if (error instanceof KeyExistsError) return false;
    throw error;
  }
}

// Which tokens were taken already, for rules that take each once: written to the store before a key is issued, so that of two servers one
// takes it, and forgotten when the token has expired.

import { createHash } from "node:crypto";
import { type CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import { KeyExistsError } from "@postern/apiserver/storage/storage-errors";
import type { ExpiringRecords } from "../store/expiring-records.ts";
import { type FollowedAccounts, fullAccountError } from "../store/record-accounts.ts";
import type { TrustRuleState } from "./trust-rule-state.ts";

/** Longer than the clocks of servers may be apart, and than a token is taken after its end. */
const GRACE_MS = 10 * 60_000;

/** Tokens of the rules of one project, which may trust an issuer of its own that ends its tokens when it likes. */
const MAX_OF_PROJECT: StoredAmount = { objects: 10_000, bytes: Number.POSITIVE_INFINITY };
/** Administrators trust this issuer. */
const MAX_OF_ISSUER: StoredAmount = { objects: 100_000, bytes: Number.POSITIVE_INFINITY };

export type TakenTokens = ExpiringRecords & {
  readonly accounts: Pick<FollowedAccounts, "of" | "isFull" | "during" | "has">;
};

/** For whom a record counts; undefined for those of earlier releases. */
export function accountOfTakenToken(record: CachedObject): string | undefined {
  const { account } = record.decode();
  return typeof account === "string" ? account : undefined;
}

/**
 * Resolves with false where the token was taken before, by whichever server. `expiresAt` in milliseconds since the epoch. The same issuer
 * gives a jti once, whichever rule it is shown to. Rejects with the ApiError 403 if as many as allowed are remembered: to forget one would let it be
 * used again.
 */
export async function markTokenUsed(
  { prefix, storage, accounts }: TakenTokens,
  { source, project }: Pick<TrustRuleState, "source" | "project">,
  tokenId: string,
  expiresAt: number,
): Promise<boolean> {
  const name = createHash("sha256")
    .update(JSON.stringify([source.issuer, source.id, tokenId]))
    .digest("hex");
  const account = project === undefined ? `issuer ${source.issuer}` : `project ${project}`;
  const limit = project === undefined ? MAX_OF_ISSUER : MAX_OF_PROJECT;
  if (accounts.isFull(account, limit)) {
    throw fullAccountError(
      `${account} has ${accounts.of(account).objects} tokens that were used once and have not expired, and the limit is ${limit.objects}`,
    );
  }
  const content = { until: expiresAt + GRACE_MS, account };
  const value = encodeStoredValue({ apiVersion: "v1", kind: "TakenToken", metadata: { name }, ...content });
  try {
    const key = prefix + name;
    await accounts.during(
      account,
      () => accounts.has(key),
      () => storage.create(key, value),
    );
    return true;
  } catch (error) {
    if (error instanceof KeyExistsError) return false;
    throw error;
  }
}

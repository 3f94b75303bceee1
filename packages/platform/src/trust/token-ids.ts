// Which tokens were taken already, for rules that take each once: written to the store before a key is issued, so that of two servers one
// takes it, and forgotten when the token has expired.

import { createHash } from "node:crypto";
import { encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { ViewPrefix } from "@postern/apiserver/cache/follow-view";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createSweeper } from "@postern/apiserver/controllers/sweeper";
import type { Storage } from "@postern/apiserver/storage/storage";
import { KeyExistsError, RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import type { TrustRuleState } from "./trust-rule-state.ts";

/** Where the records are, and the store that they are written to. */
export type TokenIdRecords = ViewPrefix & { readonly storage: Storage };

/** Longer than the clocks of servers may be apart, and than a token is taken after its end. */
const GRACE_MS = 10 * 60_000;
const INTERVAL_MS = 60_000;

/**
 * Resolves with false where the token was taken before, by whichever server. `expiresAt` in milliseconds since the epoch. The same issuer
 * gives a jti once, whichever rule it is shown to.
 */
export async function takeToken(
  { prefix, storage }: TokenIdRecords,
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

/** Sweeps once a minute until it is disposed. */
export const createTokenIdReaper = (
  port: Pick<ControllerPort, "runtime" | "onError">,
  { view, prefix, storage }: TokenIdRecords,
): Controller =>
  createSweeper(port, {
    intervalMs: INTERVAL_MS,
    items: () => view.list(prefix),
    isOver: (record) => Number(record.decode()["until"] ?? 0) <= port.runtime.clock.now(),
    async remove({ key, revision }) {
      try {
        await storage.delete(key, revision);
      } catch (error) {
        if (!(error instanceof RevisionConflictError)) throw error;
      }
    },
    nameOf: ({ key }) => key.slice(prefix.length),
  });

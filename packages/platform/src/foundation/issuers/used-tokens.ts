// Which tokens were taken already, for rules that take each once: written to the store before a key is issued, so that of two servers one
// takes it, and forgotten when the token has expired. Per source of tokens, the latest end of a forgotten one is kept (ADR 225).

import { createHash } from "node:crypto";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import { createRecordReaper, type ExpiringRecords } from "../store/expiring-records.ts";
import { type FollowedAccounts, fullAccountError } from "../store/record-accounts.ts";
import type { IssuerSource } from "./issuer-source.ts";

/** Longer than the clocks of servers may be apart, and than a token is taken after its end. */
const GRACE_MS = 10 * 60_000;

/** Tokens of the rules of one project, which may trust an issuer of its own that ends its tokens when it likes. */
const MAX_OF_PROJECT: StoredAmount = { objects: 10_000, bytes: Number.POSITIVE_INFINITY };
/** Administrators trust this issuer. */
const MAX_OF_ISSUER: StoredAmount = { objects: 100_000, bytes: Number.POSITIVE_INFINITY };

/** How far a clock may go back without a token becoming valid again that was used. */
const MARK_KEPT_MS = 7 * 24 * 60 * 60_000;
/** A mark is written once in this time. Shorter than the grace, so that no token which is valid ends before a mark. */
const MARK_STEP_MS = GRACE_MS / 2;

export type TakenTokens = ExpiringRecords & {
  readonly accounts: Pick<FollowedAccounts, "of" | "isFull" | "during" | "has">;
};

/** The account of a record; undefined for those of earlier releases. */
export function accountOfTakenToken(record: CachedObject): string | undefined {
  const { account } = record.decode();
  return typeof account === "string" ? account : undefined;
}

const hashOf = (parts: readonly string[]): string => createHash("sha256").update(JSON.stringify(parts)).digest("hex");
const markKey = (prefix: string, source: string): string => `${prefix}ended-${source}`;
/** Milliseconds since the epoch; 0 where no token has been forgotten. */
const markedEnd = (mark: CachedObject | undefined): number => Number(mark?.decode()["ended"] ?? 0);

/**
 * Resolves with false where the token was taken before, by whichever server, or ended before one that is forgotten. `expiresAt` in milliseconds since the epoch. The same issuer
 * gives a jti once, whichever rule it is shown to. Rejects with the ApiError 403 if as many as allowed are remembered: to forget one would let it be
 * used again.
 */
export async function markTokenUsed(
  { view, prefix, storage, accounts }: TakenTokens,
  { source, project }: { readonly source: IssuerSource; readonly project: string | undefined },
  tokenId: string,
  expiresAt: number,
): Promise<boolean> {
  const name = hashOf([source.issuer, source.id, tokenId]);
  const sourceHash = hashOf([source.issuer, source.id]);
  const until = expiresAt + GRACE_MS;
  if (until <= markedEnd(view.get(markKey(prefix, sourceHash)))) return false;
  const account = project === undefined ? `issuer ${source.issuer}` : `project ${project}`;
  const limit = project === undefined ? MAX_OF_ISSUER : MAX_OF_PROJECT;
  if (accounts.isFull(account, limit)) {
    throw fullAccountError(
      `${account} has ${accounts.of(account).objects} tokens that were used once and have not expired, and the limit is ${limit.objects}`,
    );
  }
  const content = { until, account, source: sourceHash };
  const value = encodeStoredValue({ apiVersion: "v1", kind: "TakenToken", metadata: { name }, ...content });
  const key = prefix + name;
  const written = accounts.during(
    account,
    () => accounts.has(key),
    () => storage.create(key, value),
  );
  return (await unlessConflict(written)) !== undefined;
}

/**
 * Forgets tokens when they have expired. Before, the end of the token is marked for its source: with a clock that goes back, a token that ended
 * before the mark would be valid and unknown.
 */
export function createTakenTokenReaper(
  port: Pick<ControllerPort, "runtime" | "onError">,
  records: TakenTokens,
): Controller {
  const { view, prefix, storage } = records;
  /** Marks that are being written: one after the other. */
  const writing = new Map<string, Promise<void>>();
  const readEntry = CachedObject.entryReader();
  const write = async (source: string, ended: number, account: unknown): Promise<void> => {
    const key = markKey(prefix, source);
    if (markedEnd(view.get(key)) >= ended) return;
    // The view may be behind the last write.
    const entry = await storage.get(key);
    const mark = entry && readEntry(entry);
    if (markedEnd(mark) >= ended) return;
    const content = { until: ended + MARK_KEPT_MS, ended, ...(typeof account === "string" ? { account } : {}) };
    const name = key.slice(prefix.length);
    const value = encodeStoredValue({ apiVersion: "v1", kind: "TakenToken", metadata: { name }, ...content });
    await (mark === undefined ? storage.create(key, value) : storage.update(key, value, mark.revision));
  };
  return createRecordReaper(port, records, (record) => {
    const { source, until, account } = record.decode();
    // Marks themselves, and records of earlier releases.
    if (typeof source !== "string") return Promise.resolve();
    const ended = Math.ceil(Number(until) / MARK_STEP_MS) * MARK_STEP_MS;
    const before = writing.get(source) ?? Promise.resolve();
    const done = before.then(() => write(source, ended, account));
    const settled = done.catch(() => {});
    writing.set(source, settled);
    void settled.then(() => {
      if (writing.get(source) === settled) writing.delete(source);
    });
    return done;
  });
}

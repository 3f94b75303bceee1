// Which notice of an expiring access key is due, and the record of sent ones. Each lead time is notified once per expiration.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { StoredEntry } from "@postern/apiserver/storage/storage";

export type Expiration = {
  /** Milliseconds since the epoch. */
  readonly end: number;
  /** How long the key lives in all, in milliseconds: a lead time that is not shorter would be noticed at its creation. */
  readonly lifeMs: number;
};

/** When each lead time was last noticed: milliseconds since the epoch by seconds. */
export type SentNotices = ReadonlyMap<number, number>;

export const NO_NOTICES: SentNotices = new Map();

/**
 * The shortest lead time that has been reached and not been noticed, in seconds. A longer one that was missed is covered by it. A key whose
 * end moves away is noticed again, for its new end.
 */
export function dueLeadTime(
  { end, lifeMs }: Expiration,
  leadSeconds: readonly number[],
  noticed: SentNotices,
  now: number,
): number | undefined {
  if (end <= now) return undefined;
  const reached = leadSeconds.filter((seconds) => seconds * 1000 < lifeMs && end - seconds * 1000 <= now);
  if (reached.length === 0) return undefined;
  const shortest = Math.min(...reached);
  const reachedAt = end - shortest * 1000;
  const isCovered = [...noticed].some(([seconds, at]) => seconds <= shortest && at >= reachedAt);
  return isCovered ? undefined : shortest;
}

/** A clock that was set back makes nothing due again. */
export const withSentNotice = (noticed: SentNotices, seconds: number, now: number): SentNotices =>
  new Map(noticed).set(seconds, Math.max(now, noticed.get(seconds) ?? 0));

const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
] as const;

/** `7d`, `36h`, `90m`: as the option says it. */
export function textOfLeadTime(seconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => seconds % size === 0) ?? ["s", 1];
  return `${seconds / size}${unit}`;
}

// Records of the notices of one access key: each stands beside the key itself, so that writes of the key do not conflict with it.

/** A notice that is decided on, and may not be told everywhere yet. */
export type PendingNotice = {
  readonly leadSeconds: number;
  /** The end of the key, in milliseconds since the epoch. */
  readonly end: number;
  readonly needsEvent: boolean;
  readonly needsDelivery: boolean;
};

export type NoticeRecord = { readonly noticed: SentNotices; readonly pending: PendingNotice | undefined };

export const encodeNotices = (uid: string, { noticed, pending }: NoticeRecord): Uint8Array =>
  encodeStoredValue({
    apiVersion: "v1",
    kind: "AccessKeyNotices",
    metadata: { name: uid },
    noticed: Object.fromEntries(noticed),
    ...(pending === undefined ? {} : { pending: { ...pending } }),
  });

export const decodeEntry = (entry: StoredEntry): NoticeRecord => decodeNotices(CachedObject.fromEntry(entry));

export function decodeNotices(object: CachedObject): NoticeRecord {
  const { noticed, pending } = object.decode();
  const times = isJsonObject(noticed) ? Object.entries(noticed) : [];
  return {
    noticed: new Map(
      times.flatMap(([seconds, at]) => (typeof at === "number" ? [[Number(seconds), at] as const] : [])),
    ),
    pending: isJsonObject(pending) ? readPending(pending) : undefined,
  };
}

/** Undefined for what a newer release may have written. */
function readPending({ leadSeconds, end, needsEvent, needsDelivery }: JsonObject): PendingNotice | undefined {
  if (typeof leadSeconds !== "number" || typeof end !== "number") return undefined;
  return { leadSeconds, end, needsEvent: needsEvent === true, needsDelivery: needsDelivery === true };
}

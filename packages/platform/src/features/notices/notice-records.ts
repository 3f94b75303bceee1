// The stored record of an access key's notices. It is an object of its own, so that writes of the key do not conflict with it.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { StoredEntry } from "@postern/apiserver/storage/storage";
import type { SentNotices } from "./notice-plan.ts";

/** A notice that is decided on, and may not have been sent to all its receivers yet. */
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

// What is kept in the store of the use of one access key: a record beside the key's own, so that it is in nobody's way.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { type CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { type ScopeEntry, textOfEntry } from "./scope-entry.ts";

export type KeyUsageSummary = {
  /** Milliseconds since the epoch: what was before is not known. */
  readonly since: number;
  readonly entries: readonly ScopeEntry[];
  /** Requests that no entry of a scope opens, such as `list management.postern/ownedaccesskeys`. */
  readonly beyondScopes: readonly string[];
  /** False where there was more than is remembered. */
  readonly complete: boolean;
};

/** Of entries, and of requests beyond scopes, so many each are remembered of a key. */
export const MAX_ENTRIES = 50;

/** Of two servers, or of one before and after a start. */
export function mergeUsage(one: KeyUsageSummary, other: KeyUsageSummary): KeyUsageSummary {
  const entries = new Map([...one.entries, ...other.entries].map((entry) => [textOfEntry(entry), entry]));
  const beyond = new Set([...one.beyondScopes, ...other.beyondScopes]);
  const isTooMuch = entries.size > MAX_ENTRIES || beyond.size > MAX_ENTRIES;
  return {
    since: Math.min(one.since, other.since),
    entries: [...entries.values()].slice(0, MAX_ENTRIES),
    beyondScopes: [...beyond].slice(0, MAX_ENTRIES).sort(),
    complete: one.complete && other.complete && !isTooMuch,
  };
}

/** Whether `known` tells everything that `news` does. */
export function coversUsage(known: KeyUsageSummary, news: KeyUsageSummary): boolean {
  const texts = new Set(known.entries.map(textOfEntry));
  return (
    known.since <= news.since &&
    (news.complete || !known.complete) &&
    news.entries.every((entry) => texts.has(textOfEntry(entry)) || !known.complete) &&
    news.beyondScopes.every((request) => known.beyondScopes.includes(request) || !known.complete)
  );
}

export const encodeUsage = (uid: string, usage: KeyUsageSummary): Uint8Array =>
  encodeStoredValue({
    apiVersion: "v1",
    kind: "AccessKeyUsage",
    metadata: { name: uid },
    usage: { ...usage, entries: usage.entries.map((entry): JsonObject => ({ ...entry })) },
  });

export function decodeUsage(object: CachedObject): KeyUsageSummary {
  const usage = object.decode()["usage"];
  const { since, entries, beyondScopes, complete } = isJsonObject(usage) ? usage : {};
  return {
    since: typeof since === "number" ? since : 0,
    entries: isJsonArray(entries) ? entries.flatMap(readEntry) : [],
    beyondScopes: isJsonArray(beyondScopes) ? beyondScopes.filter((text) => typeof text === "string") : [],
    complete: complete === true,
  };
}

/** None for what a newer release may have written. */
function readEntry(value: JsonValue): readonly ScopeEntry[] {
  if (!isJsonObject(value)) return [];
  const { list, project, virtualCluster, space, cluster, role } = value;
  if (list === "projects" && typeof project === "string") return [{ list, project }];
  if (list === "virtualClusters" && typeof project === "string" && typeof virtualCluster === "string") {
    return [{ list, project, virtualCluster }];
  }
  if (list === "spaces" && typeof project === "string" && typeof space === "string") return [{ list, project, space }];
  if (list === "clusters" && typeof cluster === "string") return [{ list, cluster }];
  if (list === "roles" && (role === "platform-cli" || role === "metrics-reader")) return [{ list, role }];
  return [];
}

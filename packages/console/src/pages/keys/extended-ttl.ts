// The TTL with which a key ends later.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";

const DAY = 86_400;

/**
 * In seconds: the key ends `days` days from `now` (milliseconds), and never earlier than before. A TTL counts from the creation of a key, or from its last
 * use where each use restarts it. A key without an end keeps none: 0.
 */
export function extendedTTL({ metadata, spec, status }: OwnedAccessKey, days: number, now: number): number {
  const before = Number(spec?.ttl ?? 0);
  if (before === 0 && status?.expirationTimestamp == null) return 0;
  if (spec?.ttlAfterLastActivity === true) return Math.max(before, days * DAY);
  const age = Math.max(0, now - Date.parse(metadata.creationTimestamp ?? "")) / 1_000;
  return Math.max(before, Math.ceil(age) + days * DAY);
}

// The TTL of access keys.

import type { AccessKeyOwner } from "../access-key-owner.ts";

export type Lifetime = {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly lastActivity: number | undefined;
  /** Seconds; 0: no end of its own. */
  readonly ttl: number;
  /** Counted from the last activity, or from creation while unused. */
  readonly countsFromActivity: boolean;
};

/** Three hundred years: the year of any expiration has four digits. */
export const MAX_TTL_SECONDS = 9_500_000_000;

/** The effective TTL in seconds: a missing TTL, or one above the maximum, becomes the maximum. 0: never expires. */
export function effectiveTTL(ttl: number, maxTTLSeconds: number): number {
  const wanted = ttl > 0 ? Math.min(ttl, MAX_TTL_SECONDS) : 0;
  if (maxTTLSeconds <= 0) return wanted;
  return wanted === 0 ? maxTTLSeconds : Math.min(wanted, maxTTLSeconds);
}

export type DefaultTTLs = {
  /** The setting accessKeys.defaultTTLSeconds; 0 or less: no end. */
  readonly defaultTTLSeconds: number;
  /** The setting accessKeys.machineDefaultTTLSeconds. */
  readonly machineDefaultTTLSeconds: number;
};

/** Default TTL in seconds of an access key, by the kind of its owner. 0: never expires. A user is a person, all others are machines. */
export function defaultTTLOf(owner: AccessKeyOwner | undefined, settings: DefaultTTLs): number {
  const isPerson = owner === undefined || owner.kind === "user";
  return Math.max(0, isPerson ? settings.defaultTTLSeconds : settings.machineDefaultTTLSeconds);
}

export type KeyTTL = { readonly ttl: number; readonly countsFromActivity: boolean };

/** Whether a key may work longer by the first than by the second. A TTL that starts again with each use has no fixed expiration. */
export function isLongerTTL(life: KeyTTL, than: KeyTTL): boolean {
  if (than.ttl <= 0) return false;
  if (life.ttl <= 0 || life.ttl > than.ttl) return true;
  return life.countsFromActivity && !than.countsFromActivity;
}

/** Milliseconds since the epoch; undefined: never. */
export function expirationOf(
  { createdAt, lastActivity, ttl, countsFromActivity }: Lifetime,
  maxTTLSeconds: number,
): number | undefined {
  const seconds = effectiveTTL(ttl, maxTTLSeconds);
  if (seconds === 0) return undefined;
  const from = countsFromActivity ? Math.max(createdAt, lastActivity ?? 0) : createdAt;
  return from + seconds * 1000;
}

// When an access key ends by itself.

import type { AccessKeyOwner } from "./access-key-state.ts";

export type Lifetime = {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly lastActivity: number | undefined;
  /** Seconds; 0: no end of its own. */
  readonly ttl: number;
  /** Counted from the last activity, or from creation while unused. */
  readonly countsFromActivity: boolean;
};

/** Three hundred years: the end of any life has four digits for its year. */
export const MAX_TTL_SECONDS = 9_500_000_000;

/** Seconds that count: no end, or one beyond what the setting allows, becomes the longest life allowed. 0 where there is no end. */
export function effectiveTTL(ttl: number, maxTTLSeconds: number): number {
  const wanted = ttl > 0 ? Math.min(ttl, MAX_TTL_SECONDS) : 0;
  if (maxTTLSeconds <= 0) return wanted;
  return wanted === 0 ? maxTTLSeconds : Math.min(wanted, maxTTLSeconds);
}

export type DefaultLives = {
  /** The setting accessKeys.defaultTTLSeconds; 0 or less: no end. */
  readonly defaultTTLSeconds: number;
  /** The setting accessKeys.machineDefaultTTLSeconds. */
  readonly machineDefaultTTLSeconds: number;
};

/** Seconds that an access key without a TTL of its own lives, by whom it speaks for; 0: no end. A user is a person, all others are machines. */
export function defaultTTLOf(owner: AccessKeyOwner | undefined, settings: DefaultLives): number {
  const isPerson = owner === undefined || owner.kind === "user";
  return Math.max(0, isPerson ? settings.defaultTTLSeconds : settings.machineDefaultTTLSeconds);
}

export type Life = { readonly ttl: number; readonly countsFromActivity: boolean };

/** Whether a key may work longer by the first than by the second. A life that counts from activity has no last moment. */
export function isLonger(life: Life, than: Life): boolean {
  if (than.ttl <= 0) return false;
  if (life.ttl <= 0 || life.ttl > than.ttl) return true;
  return life.countsFromActivity && !than.countsFromActivity;
}

/** Milliseconds since the epoch; undefined: never. */
export function endOfLife(
  { createdAt, lastActivity, ttl, countsFromActivity }: Lifetime,
  maxTTLSeconds: number,
): number | undefined {
  const seconds = effectiveTTL(ttl, maxTTLSeconds);
  if (seconds === 0) return undefined;
  const from = countsFromActivity ? Math.max(createdAt, lastActivity ?? 0) : createdAt;
  return from + seconds * 1000;
}

// The access keys of the home page in one pass: those that need attention, and how many there are of each age and end.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { type Attention, attentionOf, isTemporary, keyState, type Moment } from "../keys/key-state.ts";

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;

/** In days: keys younger than each, and one class more for all that are older. */
export const AGES = [1, 7, 30, 90, 365] as const;
/** Weeks of the next 90 days; behind them a class for later ends, and one for keys without an end. */
export const WEEKS = 13;

export type KeyCounts = {
  readonly attention: { readonly [attention in Attention]: readonly OwnedAccessKey[] };
  /** Valid keys, without sessions and tokens of kubeconfigs; so are the classes. */
  readonly valid: number;
  readonly ages: readonly number[];
  readonly ends: readonly number[];
};

export function countKeys(keys: readonly OwnedAccessKey[], now: Moment): KeyCounts {
  const attention: { readonly [attention in Attention]: OwnedAccessKey[] } = {
    first: [],
    refused: [],
    ending: [],
    unused: [],
    permanent: [],
  };
  const youngerThan = AGES.map((days) => new Date(now.now - days * DAY_MS).toISOString());
  const endsBefore = Array.from({ length: WEEKS }, (_, week) => new Date(now.now + (week + 1) * WEEK_MS).toISOString());
  const ages = Array.from({ length: AGES.length + 1 }, () => 0);
  const ends = Array.from({ length: WEEKS + 2 }, () => 0);
  let valid = 0;
  for (const key of keys) {
    const state = keyState(key, now);
    const found = attentionOf(key, now, state);
    if (found !== undefined) attention[found].push(key);
    if (isTemporary(key) || (state.tone !== "good" && state.tone !== "warn")) continue;
    valid++;
    add(ages, classOf(key.metadata.creationTimestamp ?? "", youngerThan, isAfter));
    const end = key.status?.expirationTimestamp;
    add(ends, end == null ? WEEKS + 1 : classOf(end, endsBefore, isBefore));
  }
  return { attention, valid, ages, ends };
}

const isAfter = (time: string, limit: string): boolean => time > limit;
const isBefore = (time: string, limit: string): boolean => time < limit;

function classOf(time: string, limits: readonly string[], isIn: (time: string, limit: string) => boolean): number {
  const at = limits.findIndex((limit) => isIn(time, limit));
  return at < 0 ? limits.length : at;
}

function add(counts: number[], at: number): void {
  counts[at] = (counts[at] ?? 0) + 1;
}

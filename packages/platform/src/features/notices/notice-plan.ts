// Which notice of an expiring access key is due. Each lead time is notified once per expiration.

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

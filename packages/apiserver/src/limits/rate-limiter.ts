// Token buckets: requests per second, and bursts.

import type { Clock } from "../runtime/clock.ts";

export type RateLimit = {
  /** Requests a second over time. */
  readonly qps: number;
  /** Requests at once after a pause; at least 1. */
  readonly burst: number;
};

export type RateLimiter = {
  /** Undefined if the request is allowed; otherwise the whole seconds to wait. `cost`: how many requests it counts for. */
  delayOf(subject: string, cost?: number): number | undefined;
  /** Takes back what a request that went on has cost. */
  refund(subject: string, cost?: number): void;
  /** Whether the next request would be slowed down. Costs nothing. */
  isExhausted(subject: string): boolean;
};

type Bucket = { tokens: number; updatedAt: number };

/** Full buckets are evicted first, so that new clients cannot evict those that are limited. */
const MAX_SUBJECTS = 100_000;
const KEPT_SHARE = 0.9;

/** `limit` is read for each request: it may change. */
export function createRateLimiter(limit: RateLimit, clock: Pick<Clock, "elapsed">): RateLimiter {
  const buckets = new Map<string, Bucket>();

  const refill = (bucket: Bucket, now: number): void => {
    const { qps, burst } = limit;
    const elapsedSeconds = (now - bucket.updatedAt) / 1000;
    bucket.tokens = Math.min(burst, bucket.tokens + elapsedSeconds * qps);
    bucket.updatedAt = now;
  };
  const forgetIdle = (now: number): void => {
    for (const [subject, bucket] of buckets) {
      refill(bucket, now);
      if (bucket.tokens >= limit.burst) buckets.delete(subject);
    }
    // All are busy: those that have waited longest go, many at once, so that not each newcomer goes through all of them.
    for (const subject of buckets.keys()) {
      if (buckets.size <= MAX_SUBJECTS * KEPT_SHARE) return;
      buckets.delete(subject);
    }
  };

  return {
    delayOf(subject, cost = 1) {
      const { qps, burst } = limit;
      const now = clock.elapsed();
      let bucket = buckets.get(subject);
      if (bucket === undefined) {
        if (buckets.size >= MAX_SUBJECTS) forgetIdle(now);
        bucket = { tokens: burst, updatedAt: now };
        buckets.set(subject, bucket);
      }
      refill(bucket, now);
      // More than the burst is never there: it is asked for all of that.
      const wanted = Math.min(cost, burst);
      if (bucket.tokens < wanted) return Math.max(1, Math.ceil((wanted - bucket.tokens) / qps));
      bucket.tokens -= wanted;
      return undefined;
    },
    refund(subject, cost = 1) {
      const bucket = buckets.get(subject);
      if (bucket !== undefined) bucket.tokens = Math.min(limit.burst, bucket.tokens + cost);
    },
    isExhausted(subject) {
      const bucket = buckets.get(subject);
      if (bucket === undefined) return false;
      refill(bucket, clock.elapsed());
      return bucket.tokens < 1;
    },
  };
}

const GROUPS_OF_NETWORK = 4;

/** The part of an address that counts as one sender: for IPv6 its /64 network, since a client can use all addresses of its network. */
export function sourceOf(address = ""): string {
  if (!address.includes(":") || address.includes(".")) return address;
  const [before = "", after] = address.split("::");
  const groups = before.split(":");
  if (after !== undefined) {
    const missing = 8 - groups.length - after.split(":").length;
    groups.push(...Array.from({ length: missing }, () => "0"));
  }
  return groups.slice(0, GROUPS_OF_NETWORK).join(":");
}

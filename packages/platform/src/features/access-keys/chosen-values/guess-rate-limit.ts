// Limits how often a client may have values compared with those of access keys. Attempts are counted by user, key and address.

import { createHmac, createSecretKey, randomBytes } from "node:crypto";
import { tooManyRequestsError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { type RateLimit, type RateLimiter, sourceOf } from "@postern/apiserver/limits/rate-limiter";

/**
 * `chosen`: a value is set. `text`: own values are searched for in a text. `asked`: the owner of a value is looked up. `reported`: a value is
 * reported as leaked.
 */
export type Comparison = "chosen" | "text" | "asked" | "reported";

/** The server's own work has no credential, and is not counted. */
type Asker = Pick<RequestContext, "user" | "caller" | "credential" | "request">;

export type GuessRateLimit = {
  /** Call before comparing this many values. Throws ApiError 429. */
  spend(comparison: Comparison, asker: Asker, count?: number): void;
  /**
   * Runs a question whose answer is good or not. Invalid values and comparisons in progress count. A value that was valid for the same caller
   * recently is compared immediately, so that guesses through one caller do not lock out its users. Throws ApiError 429.
   */
  ask<T>(asker: Asker, value: string, question: () => Promise<T>, isGood: (answer: T) => boolean): Promise<T>;
};

/** Several clients may stand behind one address. */
const LIMITS: { readonly [comparison in Comparison]: { readonly own: RateLimit; readonly address: RateLimit } } = {
  chosen: { own: { qps: 1, burst: 100 }, address: { qps: 5, burst: 500 } },
  // Descriptions and annotations of whole folders of manifests.
  text: { own: { qps: 50, burst: 20_000 }, address: { qps: 250, burst: 100_000 } },
  asked: { own: { qps: 10, burst: 300 }, address: { qps: 50, burst: 1_500 } },
  // Anonymous: scanners report in batches.
  reported: { own: { qps: 10, burst: 1_000 }, address: { qps: 10, burst: 1_000 } },
};
const MAX_KNOWN = 10_000;

export function createGuessRateLimit(limiterOf: (limit: RateLimit) => RateLimiter): GuessRateLimit {
  const limiters = new Map(
    Object.entries(LIMITS).map(([comparison, { own, address }]) => [
      comparison as Comparison,
      { own: limiterOf(own), address: limiterOf(address) },
    ]),
  );
  /** Hashes of what was good, by caller, under a key that ends with the process; the oldest first. */
  const known = new Set<string>();
  // A key object is made once: from bytes, Node would make one for each hash, which takes several times as long.
  const processKey = createSecretKey(randomBytes(32));
  const fingerprint = (caller: string, value: string): string =>
    createHmac("sha256", processKey).update(`${caller}\n${value}`).digest("base64");

  const subjectsOf = (
    comparison: Comparison,
    { user, caller = user, credential, request }: Asker,
  ): readonly (readonly [RateLimiter, string])[] => {
    const limiter = limiters.get(comparison);
    if (limiter === undefined || (credential === undefined && comparison !== "reported")) return [];
    return [
      ...(credential === undefined
        ? []
        : ([
            [limiter.own, `user ${caller.name}`],
            [limiter.own, `key ${credential.id}`],
          ] as const)),
      ...(request.remoteAddress === "" ? [] : ([[limiter.address, sourceOf(request.remoteAddress)]] as const)),
    ];
  };

  const spend = (comparison: Comparison, asker: Asker, count = 1): void => {
    const paid: (readonly [RateLimiter, string])[] = [];
    for (const [limiter, subject] of subjectsOf(comparison, asker)) {
      const delay = limiter.delayOf(subject, count);
      if (delay === undefined) {
        paid.push([limiter, subject]);
        continue;
      }
      // Nothing is compared, so that nothing is to be paid.
      for (const [other, of] of paid) other.refund(of, count);
      throw tooManyRequestsError("too many values of access keys, please try again later", delay);
    }
  };

  return {
    spend,
    async ask(asker, value, question, isGood) {
      const print = fingerprint(`${asker.user.name}\n${asker.credential?.id ?? ""}`, value);
      if (known.has(print)) return await question();
      spend("asked", asker);
      const answer = await question();
      if (isGood(answer)) {
        for (const [limiter, subject] of subjectsOf("asked", asker)) limiter.refund(subject);
        if (known.size >= MAX_KNOWN) known.delete(known.values().next().value ?? "");
        known.add(print);
      }
      return answer;
    },
  };
}

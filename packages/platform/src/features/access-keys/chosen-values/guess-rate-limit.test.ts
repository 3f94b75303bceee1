import { isApiError } from "@postern/apimachinery/meta/api-error";
import { createRateLimiter } from "@postern/apiserver/limits/rate-limiter";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { describe, expect, it } from "vitest";
import { createRequestContext } from "../../../testing/request-context.ts";
import { type Comparison, createGuessRateLimit } from "./guess-rate-limit.ts";

const asker = (user: string, key: string, address: string) => {
  const context = createRequestContext({ url: "/" });
  const credential = { id: key, onRevoked: () => ({ [Symbol.dispose]() {} }) };
  const request = Object.assign(context.request, { remoteAddress: address });
  const who = { name: user, groups: [] };
  return context.with({ request, user: who, caller: who, credential });
};

/** How many go through before one is refused. */
function countUntilRefused(spend: () => void): number {
  for (let count = 0; ; count++) {
    try {
      spend();
    } catch (error) {
      expect(isApiError(error, "TooManyRequests")).toBe(true);
      return count;
    }
  }
}

describe("comparisons with the values of keys (security book 25, 26)", () => {
  it.each<[Comparison, number]>([
    ["chosen", 100],
    ["text", 20_000],
    ["asked", 300],
    ["reported", 1_000],
  ])("of the kind %s are counted by user, by key, and by address", (comparison, burst) => {
    const time = manualTime();
    const limits = createGuessRateLimit((limit) => createRateLimiter(limit, time.clock));
    const spend = (user: string, key: string, address: string) => () =>
      limits.spend(comparison, asker(user, key, address));
    expect(countUntilRefused(spend("eve", "k1", "192.0.2.1"))).toBe(burst);
    // Another key or address of hers, and another user by her key, are no way around.
    expect(countUntilRefused(spend("eve", "k2", "192.0.2.2"))).toBe(0);
    expect(countUntilRefused(spend("jane", "k1", "192.0.2.2"))).toBe(0);
    expect(countUntilRefused(spend("jane", "k3", "192.0.2.2"))).toBeGreaterThanOrEqual(burst);
    // Many users at one address come to an end as well.
    let user = 0;
    expect(
      countUntilRefused(() => {
        user++;
        spend(`user-${user}`, `key-${user}`, "192.0.2.3")();
      }),
    ).toBeLessThanOrEqual(5 * burst);
    time.advance(3_600_000);
    expect(countUntilRefused(spend("eve", "k1", "192.0.2.1"))).toBeGreaterThan(0);
  });

  it("count an impersonating caller as the real user", () => {
    const { clock } = manualTime();
    const limits = createGuessRateLimit((limit) => createRateLimiter(limit, clock));
    const caller = { name: "eve", groups: [] };
    expect(
      [1, 2, 3].map((at) =>
        countUntilRefused(() => limits.spend("chosen", asker(`user-${at}`, `k${at}`, "").with({ caller }))),
      ),
    ).toEqual([100, 0, 0]);
  });

  it("of which several are asked for at once are all paid, or none is", () => {
    const { clock } = manualTime();
    const limits = createGuessRateLimit((limit) => createRateLimiter(limit, clock));
    const eve = asker("eve", "k1", "192.0.2.1");
    limits.spend("reported", eve, 990);
    expect(() => limits.spend("reported", eve, 100)).toThrow();
    expect(() => limits.spend("reported", asker("x", "y", "192.0.2.1"), 10)).not.toThrow();
  });

  it("cost nothing for valid values, which stay accepted while others are guessed", async () => {
    const { clock } = manualTime();
    const limits = createGuessRateLimit((limit) => createRateLimiter(limit, clock));
    const cluster = asker("cluster", "k1", "192.0.2.1");
    const ask = (value: string) =>
      limits.ask(
        cluster,
        value,
        async () => value.startsWith("good"),
        (isGood) => isGood,
      );
    for (let at = 0; at < 3_000; at++) expect(await ask(`good ${at}`)).toBe(true);
    let refused = 0;
    for (let at = 0; at < 400; at++) {
      await ask(`guess ${at}`).catch((error) => {
        expect(isApiError(error, "TooManyRequests")).toBe(true);
        refused++;
      });
    }
    expect(refused).toBe(100);
    expect(await ask("good 7")).toBe(true);
    // This is the only case that can be distinguished from a guess.
    await expect(ask("good but new")).rejects.toThrow("too many");
  });

  it("of the server's own work are not counted", () => {
    const { clock } = manualTime();
    const limits = createGuessRateLimit((limit) => createRateLimiter(limit, clock));
    const nobody = asker("system", "", "").with({ credential: undefined });
    for (let at = 0; at < 1_000; at++) limits.spend("chosen", nobody);
  });
});

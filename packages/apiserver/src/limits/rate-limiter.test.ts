import { describe, expect, it } from "vitest";
import { manualTime } from "../runtime/testing/manual-time.ts";
import { createRateLimiter } from "./rate-limiter.ts";

function limiterAt(start: number, limit: { qps: number; burst: number }) {
  let now = start;
  const limiter = createRateLimiter(limit, { elapsed: () => now });
  return { delayOf: limiter.delayOf, advance: (milliseconds: number) => (now += milliseconds) };
}

describe("rate limiter", () => {
  it("allows a burst, then answers with when to retry", () => {
    const { delayOf } = limiterAt(0, { qps: 2, burst: 3 });
    expect([1, 2, 3, 4].map(() => delayOf("a"))).toEqual([undefined, undefined, undefined, 1]);
  });

  it("gives one more for each interval that passes", () => {
    const { delayOf, advance } = limiterAt(0, { qps: 2, burst: 1 });
    expect(delayOf("a")).toBeUndefined();
    expect(delayOf("a")).toBe(1);
    advance(500);
    expect(delayOf("a")).toBeUndefined();
    expect(delayOf("a")).toBe(1);
  });

  it("follows a limit that changes", () => {
    const limit = { qps: 1, burst: 4 };
    const { delayOf, advance } = limiterAt(0, limit);
    delayOf("a");
    limit.burst = 2;
    expect([1, 2, 3].map(() => delayOf("a"))).toEqual([undefined, undefined, 1]);
    limit.qps = 0.25;
    expect(delayOf("a")).toBe(4);
    limit.burst = 4;
    advance(16_000);
    expect([1, 2, 3, 4, 5].map(() => delayOf("a"))).toEqual([...Array(4).fill(undefined), 4]);
  });

  it("counts subjects apart, so that one cannot lock out another (security book 26)", () => {
    const { delayOf } = limiterAt(0, { qps: 1, burst: 1 });
    delayOf("attacker");
    expect(delayOf("attacker")).toBe(1);
    expect(delayOf("victim")).toBeUndefined();
  });

  it.each([-5, 5])("takes no notice of a clock that is set by %d hours", (hours) => {
    const time = manualTime();
    const { delayOf } = createRateLimiter({ qps: 1, burst: 1 }, time.clock);
    delayOf("a");
    time.setTimeOfDay(time.clock.now() + hours * 3_600_000);
    expect(delayOf("a")).toBe(1);
    time.advance(1_000);
    expect(delayOf("a")).toBeUndefined();
  });

  it("keeps slowing down a client while a hundred thousand others arrive", () => {
    const { delayOf } = limiterAt(0, { qps: 0.001, burst: 2 });
    delayOf("busy");
    delayOf("busy");
    for (let i = 0; i < 99_999; i++) delayOf(`stranger-${i}`);
    expect(delayOf("busy")).toBeGreaterThan(1);
  });
});

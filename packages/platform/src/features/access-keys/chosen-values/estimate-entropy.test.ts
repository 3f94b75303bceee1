import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { estimateEntropy, MIN_ENTROPY_BITS } from "./estimate-entropy.ts";

describe("the estimate of a value's entropy", () => {
  it.each([
    ["a character again and again", "x".repeat(64)],
    ["two characters by turns", "ab".repeat(32)],
    ["digits in their order", "0123456789".repeat(5)],
    ["a word again and again", "postern".repeat(8)],
    ["nothing but digits", "90210837465519283746551928374650"],
    ["a value that repeats its first half", "k3Jd82mZqP0wLr5T".repeat(2)],
  ])("is too small for %s", (_what, value) => {
    expect(estimateEntropy(value)).toBeLessThan(MIN_ENTROPY_BITS);
  });

  it("is large enough for what programs make", () => {
    for (let round = 0; round < 500; round++) {
      expect(estimateEntropy(randomBytes(24).toString("base64"))).toBeGreaterThanOrEqual(MIN_ENTROPY_BITS);
      expect(estimateEntropy(randomBytes(32).toString("hex"))).toBeGreaterThanOrEqual(MIN_ENTROPY_BITS);
      expect(estimateEntropy(randomBytes(32).toString("base64url"))).toBeGreaterThanOrEqual(MIN_ENTROPY_BITS);
    }
  });
});

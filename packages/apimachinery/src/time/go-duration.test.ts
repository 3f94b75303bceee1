import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseGoDuration } from "./go-duration.ts";

describe("parseGoDuration", () => {
  it.each([
    ["0", 0],
    ["+0", 0],
    ["5s", 5000],
    ["1h30m", 5_400_000],
    ["1.5s", 1500],
    [".5s", 500],
    ["1.s", 1000],
    ["-1m", -60_000],
    ["250ms", 250],
    ["1us", 0.001],
    ["1µs", 0.001],
    ["1μs", 0.001],
    ["1000000ns", 1],
    ["3m2.5s1ms", 182_501],
  ])("reads %s", (text, milliseconds) => {
    expect(parseGoDuration(text)).toBeCloseTo(milliseconds, 9);
  });

  it.each([
    ["", 'time: invalid duration ""'],
    ["bad", 'time: invalid duration "bad"'],
    ["-", 'time: invalid duration "-"'],
    [".", 'time: invalid duration "."'],
    [".s", 'time: invalid duration ".s"'],
    ["--1s", 'time: invalid duration "--1s"'],
    ["10", 'time: missing unit in duration "10"'],
    ["1h10", 'time: missing unit in duration "1h10"'],
    ["1d", 'time: unknown unit "d" in duration "1d"'],
    ["1 s", 'time: unknown unit " s" in duration "1 s"'],
    ["1constructor", 'time: unknown unit "constructor" in duration "1constructor"'],
    ["3000000h", 'time: invalid duration "3000000h"'],
  ])("refuses %j: %s", (text, message) => {
    expect(() => parseGoDuration(text)).toThrow(expect.objectContaining({ name: "GoDurationError", message }));
  });

  it("answers any text with a finite number or a GoDurationError", () => {
    const text = fc
      .array(fc.constantFrom("1", "0", ".", "-", "+", "s", "ms", "h", "x", "µ", " "))
      .map((p) => p.join(""));
    fc.assert(
      fc.property(text, (input) => {
        try {
          expect(Number.isFinite(parseGoDuration(input))).toBe(true);
        } catch (error) {
          expect(error).toHaveProperty("name", "GoDurationError");
        }
      }),
      { numRuns: 1000 },
    );
  });
});

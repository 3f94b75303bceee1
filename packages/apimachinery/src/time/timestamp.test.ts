import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMicroTime, formatTimestamp, parseTimestamp } from "./timestamp.ts";

describe("formatTimestamp", () => {
  it("cuts parts of a second off", () => {
    expect(formatTimestamp(Date.UTC(2026, 0, 2, 15, 4, 5, 999))).toBe("2026-01-02T15:04:05Z");
  });
});

describe("formatMicroTime", () => {
  it.each([
    [0, "1970-01-01T00:00:00.000000Z"],
    [1234.5, "1970-01-01T00:00:01.234500Z"],
    [-0.5, "1969-12-31T23:59:59.999500Z"],
  ])("prints %d ms as %s", (milliseconds, text) => {
    expect(formatMicroTime(milliseconds)).toBe(text);
  });
});

describe("parseTimestamp", () => {
  it.each([
    ["2026-01-02T15:04:05Z", Date.UTC(2026, 0, 2, 15, 4, 5)],
    ["2026-01-02T15:04:05.25Z", Date.UTC(2026, 0, 2, 15, 4, 5, 250)],
    ["2026-01-02T15:04:05+02:00", Date.UTC(2026, 0, 2, 13, 4, 5)],
    ["2024-02-29T00:00:00-00:30", Date.UTC(2024, 1, 29, 0, 30)],
    ["0001-01-01T00:00:00Z", -62135596800000],
    ["2026-02-29T00:00:00Z", undefined],
    ["2026-13-01T00:00:00Z", undefined],
    ["2026-01-01T24:00:00Z", undefined],
    ["2026-01-01T23:59:60Z", undefined],
    ["2026-01-01 00:00:00Z", undefined],
    ["2026-01-01T00:00:00", undefined],
    ["2026-01-01T00:00:00z", undefined],
    ["2026-01-01", undefined],
    ["1767225600", undefined],
    ["", undefined],
  ])("reads %s as %s", (text, expected) => {
    expect(parseTimestamp(text)).toBe(expected);
  });

  it("reads back what formatTimestamp wrote", () => {
    fc.assert(
      fc.property(fc.integer({ min: -62135596800, max: 253402300799 }), (seconds) => {
        expect(parseTimestamp(formatTimestamp(seconds * 1000))).toBe(seconds * 1000);
      }),
    );
  });
});

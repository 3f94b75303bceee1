import { expect, test } from "vitest";
import { formatDurationSeconds, parseDurationSeconds } from "./duration-seconds.ts";

test.each([
  ["0", 0, "0"],
  ["45s", 45, "45s"],
  ["90m", 5_400, "90m"],
  ["60m", 3_600, "1h"],
  ["12h", 43_200, "12h"],
  ["36h", 129_600, "36h"],
  ["24h", 86_400, "1d"],
  ["30d", 2_592_000, "30d"],
  ["2w", 1_209_600, "14d"],
])("%s is %d seconds, which people read as %s", (text, seconds, shown) => {
  expect(parseDurationSeconds(text)).toBe(seconds);
  expect(formatDurationSeconds(seconds)).toBe(shown);
  expect(parseDurationSeconds(shown)).toBe(seconds);
});

test.each(["12", "1y", "-1h", "1.5h", "h", "", "1constructor", "1 h"])("%j is no duration", (text) => {
  expect(() => parseDurationSeconds(text)).toThrow(/number and a unit/);
});

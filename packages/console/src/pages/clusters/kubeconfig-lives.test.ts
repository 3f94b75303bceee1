import { expect, it } from "vitest";
import { lifeWithin, livesWithin, REST, secondsLeft } from "./kubeconfig-lives.ts";

const NOW = Date.parse("2026-11-28T12:00:00Z");

it.each([
  ["of 12 hours", "2026-11-29T00:00:00Z", ["3600", REST]],
  ["of a week and a day", "2026-12-06T12:00:00Z", ["3600", "86400", "604800", REST]],
  ["that is nearly over", "2026-11-28T12:10:00Z", [REST]],
  ["without an end", undefined, ["3600", "86400", "604800", "2592000"]],
])("offers nothing longer than a session %s", (_what, end, lives) => {
  expect(livesWithin(secondsLeft(end, NOW))).toEqual(lives);
});

it.each([
  ["86400", 43_200, REST],
  ["3600", 43_200, "3600"],
  [REST, 43_200, REST],
  [REST, Number.POSITIVE_INFINITY, "86400"],
  ["604800", Number.POSITIVE_INFINITY, "604800"],
] as const)("makes of %s within %s seconds %s", (chosen, left, life) => {
  expect(lifeWithin(chosen, left)).toBe(life);
});

it("has no time left after the end of a session", () => {
  expect(secondsLeft("2026-11-28T11:00:00Z", NOW)).toBe(0);
});

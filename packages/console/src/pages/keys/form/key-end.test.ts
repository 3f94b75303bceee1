import { expect, it } from "vitest";
import { dayOf, endText, ON_A_DAY, secondsUntil, ttlOf } from "./key-end.ts";

const NOON = new Date(2026, 10, 29, 12).getTime();

it("ends with the day, in the time zone of the browser", () => {
  expect(secondsUntil(dayOf(NOON), NOON)).toBe(12 * 3_600);
  expect(new Date(NOON + secondsUntil("2027-04-01", NOON) * 1_000)).toEqual(new Date(2027, 3, 2));
});

it("is nothing for a day that is over, and for what is no day", () => {
  for (const day of ["2026-11-28", "", "soon", "2026-11"]) expect(secondsUntil(day, NOON)).toBe(0);
});

it("takes the place of a duration", () => {
  expect(ttlOf({ ttl: ON_A_DAY, day: "2026-11-29" }, NOON)).toBe("43200");
  expect(ttlOf({ ttl: "0", day: "2026-11-29" }, NOON)).toBe("0");
});

it("says when a TTL is over: of a new key from now on, of another one from its creation on", () => {
  const draft = { ttl: String(31 * 86_400), restarts: false };
  expect(endText(draft, NOON)).toMatch(/^Dec 30, 2026, in 31 days\. You can rotate/);
  expect(endText(draft, NOON, NOON - 14 * 86_400_000)).toBe("Counted from its creation: Dec 16, 2026, in 17 days.");
});

import { describe, expect, it } from "vitest";
import { parseLeadTime } from "../../foundation/config/rules.ts";
import { dueLeadTime, NO_NOTICES, textOfLeadTime, withSentNotice } from "./notice-plan.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WEEK_AND_DAY = [7 * 86_400, 86_400];
const due = (hoursLeft: number, lifeDays = 90, noticed = NO_NOTICES) =>
  dueLeadTime({ end: 100 * DAY, lifeMs: lifeDays * DAY }, WEEK_AND_DAY, noticed, 100 * DAY - hoursLeft * HOUR);

describe("dueLeadTime", () => {
  it.each([
    [8 * 24, undefined],
    [7 * 24, 7 * 86_400],
    [25, 7 * 86_400],
    [24, 86_400],
    [1, 86_400],
    [0, undefined],
    [-1, undefined],
  ])("%s hours before the end finds %s", (hours, seconds) => {
    expect(due(hours)).toBe(seconds);
  });

  it("leaves out what is not shorter than the whole life", () => {
    expect(due(24 * 7, 7)).toBe(undefined);
    expect(due(24 * 7, 7.1)).toBe(7 * 86_400);
    expect(due(24, 1)).toBe(undefined);
    expect(due(1, 1)).toBe(undefined);
  });

  it("finds each lead time of an end once, and covers a longer one that was missed", () => {
    const atWeek = withSentNotice(NO_NOTICES, 7 * 86_400, 93 * DAY);
    expect(due(48, 90, atWeek)).toBe(undefined);
    expect(due(24, 90, atWeek)).toBe(86_400);
    const atDay = withSentNotice(NO_NOTICES, 86_400, 99 * DAY);
    expect(due(1, 90, atDay)).toBe(undefined);
  });

  it("finds them again for an end that is far enough behind the one before", () => {
    const noticed = withSentNotice(NO_NOTICES, 86_400, 60 * DAY);
    expect(due(24 * 7, 90, noticed)).toBe(7 * 86_400);
  });
});

it("notes no earlier time where the clock was set back", () => {
  expect([...withSentNotice(withSentNotice(NO_NOTICES, 60, 500), 60, 400)]).toEqual([[60, 500]]);
});

it.each(["7d", "1d", "36h", "90m", "1m"])("writes %s as the option reads it", (text) => {
  expect(textOfLeadTime(parseLeadTime(text) ?? 0)).toBe(text);
});

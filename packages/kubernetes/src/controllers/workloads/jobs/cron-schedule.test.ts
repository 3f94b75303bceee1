// Times of schedules. Those in zones are what github.com/robfig/cron and the tz database give.

import { expect, test } from "vitest";
import { lastTime, parseCron } from "./cron-schedule.ts";

const next = (schedule: string, after: string, zone?: string): string | undefined => {
  const time = parseCron(schedule, zone)?.next(Date.parse(after));
  return time === undefined ? undefined : new Date(time).toISOString().replace(":00.000Z", "Z");
};

test.each([
  ["* * * * *", "2026-11-29T04:00:30Z", "2026-11-29T04:01Z"],
  ["* * * * *", "2026-11-29T04:00:00Z", "2026-11-29T04:01Z"],
  ["*/15 * * * *", "2026-11-29T23:50:00Z", "2026-11-30T00:00Z"],
  ["5-20/5 3 * * *", "2026-11-29T03:06:00Z", "2026-11-29T03:10Z"],
  ["0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00Z"],
  ["0 9 * * MON-FRI", "2026-11-28T00:00:00Z", "2026-11-30T09:00Z"],
  ["0 0 13 * FRI", "2026-11-01T00:00:00Z", "2026-11-06T00:00Z"],
  ["0 0 13 * *", "2026-11-01T00:00:00Z", "2026-11-13T00:00Z"],
  ["0 12 1 jan,JUL ?", "2026-03-01T00:00:00Z", "2026-07-01T12:00Z"],
  ["@hourly", "2026-11-29T04:10:00Z", "2026-11-29T05:00Z"],
  ["@yearly", "2026-11-29T04:10:00Z", "2027-01-01T00:00Z"],
  ["@every 1h30m", "2026-11-29T04:10:00Z", "2026-11-29T05:40Z"],
  ["59 23 31 2 *", "2026-11-29T04:10:00Z", undefined],
])("%s after %s is at %s", (schedule, after, expected) => {
  expect(next(schedule, after)).toBe(expected);
});

test.each([
  // Clocks go forward over 02:30 on 29 March, and back over it on 25 October.
  ["30 2 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin", "2026-03-30T00:30Z"],
  ["30 2 * * *", "2026-10-24T12:00:00Z", "Europe/Berlin", "2026-10-25T00:30Z"],
  ["0 0 * * *", "2026-11-29T04:10:00Z", "Asia/Kolkata", "2026-11-29T18:30Z"],
  ["0 9 1 * *", "2026-07-02T00:00:00Z", "America/New_York", "2026-08-01T13:00Z"],
])("%s after %s in %s is at %s", (schedule, after, zone, expected) => {
  expect(next(schedule, after, zone)).toBe(expected);
});

test.each(["", "* * * *", "60 * * * *", "* * 0 * *", "5-1 * * * *", "*/0 * * * *", "x * * * *"])(
  "%j is no schedule",
  (schedule) => {
    expect(parseCron(schedule)).toBeUndefined();
  },
);

test("an unknown zone has no times", () => {
  expect(parseCron("* * * * *", "Mars/Olympus")).toBeUndefined();
});

test.each([
  ["* * * * *", "2026-11-29T04:10:00Z"],
  ["* 9 * * 1", "2026-11-23T09:59:00Z"],
  ["0 0 1 1 *", "2026-01-01T00:00:00Z"],
])("the last time of %s is found however many were missed", (schedule, expected) => {
  const times = parseCron(schedule);
  if (times === undefined) throw new Error("no schedule");
  const last = lastTime(times, Date.parse("2020-01-01T00:00:30Z"), Date.parse("2026-11-29T04:10:30Z"));
  expect(new Date(last ?? 0).toISOString()).toBe(expected.replace("Z", ".000Z"));
  expect(lastTime(times, last ?? 0, (last ?? 0) + 30_000)).toBeUndefined();
});

// Times for people: "in 3 days", "2 hours ago", "90 days".

import { language, t } from "../texts/text.tsx";

/** The unit for each number of seconds: 90 days are 90 days, not two months and some. */
const STEPS = [
  { from: 545 * 86_400, unit: "year", length: 365.25 * 86_400 },
  { from: 120 * 86_400, unit: "month", length: 30.44 * 86_400 },
  { from: 36 * 3_600, unit: "day", length: 86_400 },
  { from: 90 * 60, unit: "hour", length: 3_600 },
  { from: 45, unit: "minute", length: 60 },
] as const;

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "long" });
const DAY_AND_TIME = {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
} as const;
/** With the zone: readers compare it with logs of servers, which have UTC. */
const absolute = new Intl.DateTimeFormat(language, { ...DAY_AND_TIME, year: "numeric", timeZoneName: "short" });

/** `at` and `now` in milliseconds. Less than 45 seconds is "now". */
export function relativeTime(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1000);
  const step = STEPS.find(({ from }) => Math.abs(seconds) >= from);
  return step === undefined ? t("time.now") : relative.format(Math.round(seconds / step.length), step.unit);
}

/** `Nov 23, 2026, 14:05:09 UTC`: in the browser's time zone, and with its name. */
export const absoluteTime = (at: number): string => absolute.format(at);

const short = new Intl.DateTimeFormat(language, DAY_AND_TIME);

/** `Nov 23, 14:05:09` in the browser's time zone. */
export const shortTime = (at: number): string => short.format(at);

const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** `14:05` in the browser's time zone. */
export const timeOfDay = (at: number): string => clock.format(at);

/** Midnight of the day of `now` in the browser's time zone, or of the day so many days later. In milliseconds. */
export function startOfDay(now: number, days = 0): number {
  const day = new Date(now);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + days).getTime();
}

const day = new Intl.DateTimeFormat(language, { weekday: "short", month: "short", day: "numeric" });
const dayOnly = new Intl.DateTimeFormat(language, { day: "numeric" });
const date = new Intl.DateTimeFormat(language, { dateStyle: "medium" });

/** `Mon, Nov 23`. */
export const dayText = (at: number): string => day.format(at);
/** `23` */
export const dayOfMonth = (at: number): string => dayOnly.format(at);
/** `Nov 23, 2026` */
export const dateText = (at: number): string => date.format(at);

/** In the largest unit without a remainder: 7776000 is 90 days. */
export function duration(seconds: number): string {
  const [unit, length] = UNITS.find(([, size]) => seconds % size === 0) ?? UNITS[3];
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(seconds / length);
}

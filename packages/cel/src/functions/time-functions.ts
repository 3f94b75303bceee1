// Points in time and durations: how they are read, and what they are made of.
// Source: github.com/google/cel-go/common/types/{timestamp,duration}.go

import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import { GoDurationError, parseGoDuration } from "@postern/apimachinery/time/go-duration";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import { type CelDuration, type CelTimestamp, failCel } from "../cel-value.ts";
import { type CelOverload, celMethod } from "./overload.ts";
import { checkDuration, checkTimestamp } from "./time-limits.ts";

const [MILLISECOND, SECOND, MINUTE, HOUR] = [1_000_000n, 1_000_000_000n, 60_000_000_000n, 3_600_000_000_000n];

/** Such as `1h30m`. Throws CelEvaluationError. */
export function readDuration(text: string): CelDuration {
  try {
    const milliseconds = parseGoDuration(text);
    const whole = Math.trunc(milliseconds);
    return checkDuration(BigInt(whole) * MILLISECOND + BigInt(Math.round((milliseconds - whole) * 1e6)));
  } catch (error) {
    if (error instanceof GoDurationError) return failCel(error.message);
    throw error;
  }
}

const FRACTION = /\.(\d{1,9})\d*/;

/** RFC 3339. Throws CelEvaluationError. */
export function readTimestamp(text: string): CelTimestamp {
  const fraction = FRACTION.exec(text)?.[1] ?? "";
  const milliseconds = parseTimestamp(text.replace(FRACTION, ""));
  if (milliseconds === undefined) return failCel(`parsing time ${JSON.stringify(text)} as RFC3339: cannot parse`);
  const [, sign = "", hours = "0", minutes = "0"] = /([+-])(\d\d):(\d\d)$/.exec(text) ?? [];
  const offset = (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  return checkTimestamp(BigInt(milliseconds) * MILLISECOND + BigInt(fraction.padEnd(9, "0")), offset);
}

export function formatCelTimestamp({ nanoseconds, offsetMinutes }: CelTimestamp): string {
  const rest = ((nanoseconds % SECOND) + SECOND) % SECOND;
  const local = Number((nanoseconds - rest) / MILLISECOND) + offsetMinutes * 60_000;
  const seconds = new Date(local).toISOString().slice(0, 19);
  const fraction = rest === 0n ? "" : `.${trimTrailing(String(rest).padStart(9, "0"), "0")}`;
  return `${seconds}${fraction}${offsetText(offsetMinutes)}`;
}

function offsetText(minutes: number): string {
  if (minutes === 0) return "Z";
  const two = (number: number): string => String(number).padStart(2, "0");
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** In seconds, such as `5400s`. */
export function formatCelDuration({ nanoseconds }: CelDuration): string {
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = trimTrailing(String(size % SECOND).padStart(9, "0"), "0");
  return `${nanoseconds < 0n ? "-" : ""}${size / SECOND}${fraction === "" ? "" : `.${fraction}`}s`;
}

type Part = (date: Date) => number;

const DAY_MS = 24 * 3600_000;

/** Two digits of a year would be taken for one of the 20th century. */
const firstDayOf = (date: Date): number => new Date(0).setUTCFullYear(date.getUTCFullYear(), 0, 1);
const PARTS: readonly (readonly [name: string, part: Part])[] = [
  ["getFullYear", (date) => date.getUTCFullYear()],
  ["getMonth", (date) => date.getUTCMonth()],
  ["getDate", (date) => date.getUTCDate()],
  ["getDayOfMonth", (date) => date.getUTCDate() - 1],
  ["getDayOfWeek", (date) => date.getUTCDay()],
  ["getDayOfYear", (date) => Math.floor((date.getTime() - firstDayOf(date)) / DAY_MS)],
  ["getHours", (date) => date.getUTCHours()],
  ["getMinutes", (date) => date.getUTCMinutes()],
  ["getSeconds", (date) => date.getUTCSeconds()],
  ["getMilliseconds", (date) => date.getUTCMilliseconds()],
];

/** The functions that may be asked for the clock of a zone. */
export const ZONED_PARTS: readonly string[] = PARTS.map(([name]) => name);

export const timeFunctions: readonly CelOverload[] = [
  ...PARTS.flatMap(([name, part]) => [
    celMethod(name, ["timestamp"], "int", (time) => BigInt(part(dateIn(time, "UTC")))),
    celMethod(name, ["timestamp", "string"], "int", (time, zone) => BigInt(part(dateIn(time, zone)))),
  ]),
  celMethod("getHours", ["duration"], "int", ({ nanoseconds }) => nanoseconds / HOUR),
  celMethod("getMinutes", ["duration"], "int", ({ nanoseconds }) => nanoseconds / MINUTE),
  celMethod("getSeconds", ["duration"], "int", ({ nanoseconds }) => nanoseconds / SECOND),
  celMethod("getMilliseconds", ["duration"], "int", ({ nanoseconds }) => nanoseconds / MILLISECOND),
];

/** A date whose parts in UTC are those that a clock in the zone shows. */
function dateIn({ nanoseconds }: CelTimestamp, zone: string): Date {
  const milliseconds = Number(
    (nanoseconds - (((nanoseconds % MILLISECOND) + MILLISECOND) % MILLISECOND)) / MILLISECOND,
  );
  return new Date(milliseconds + offsetOf(zone, milliseconds));
}

/** Milliseconds east of Greenwich. `+05:30`, `5:30`, or a name such as `Europe/Berlin`. */
function offsetOf(zone: string, milliseconds: number): number {
  if (zone === "UTC" || zone === "") return 0;
  const [hours = "", ...rest] = zone.split(":");
  if (rest.length > 0) {
    const offset = readWhole(hours) * 60;
    const minutes = readWhole(rest.join(":"));
    return (hours.startsWith("-") ? offset - minutes : offset + minutes) * 60_000;
  }
  const second = Math.floor(milliseconds / 1000) * 1000;
  return Date.parse(`${clockIn(zone, second).replace(", ", "T")}Z`) - second;
}

const readWhole = (text: string): number =>
  /^[+-]?\d+$/.test(text) ? Number(text) : failCel(`strconv.Atoi: parsing ${quoteGo(text)}: invalid syntax`);

function clockIn(zone: string, milliseconds: number): string {
  try {
    // Sweden writes dates as ISO 8601 does.
    return new Date(milliseconds).toLocaleString("sv-SE", { timeZone: zone }).replace(" ", "T");
  } catch {
    return failCel(`unknown time zone ${zone}`);
  }
}

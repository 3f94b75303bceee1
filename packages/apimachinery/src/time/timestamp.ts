// Points in time as API objects carry them: RFC 3339, whole seconds in metadata, microseconds in leases and audit.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/time.go, micro_time.go

import type { Timestamp } from "../meta/object-meta.ts";

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;
const MS_PER_MINUTE = 60_000;

/** `2026-01-02T15:04:05Z`; parts of a second are cut off. `milliseconds` since the epoch, years 0 to 9999. */
export function formatTimestamp(milliseconds: number): Timestamp {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** `2026-01-02T15:04:05.678000Z`, the form of MicroTime. A fraction of a millisecond is kept. */
export function formatMicroTime(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  const micros = Math.floor((milliseconds - second * 1000) * 1000);
  return `${secondText(second)}.${String(micros).padStart(6, "0")}Z`;
}

let lastSecond: { readonly second: number; readonly text: string } | undefined;

/** What is formatted is mostly the present, of which a second lasts long. */
function secondText(second: number): string {
  if (lastSecond?.second !== second) {
    lastSecond = { second, text: new Date(second * 1000).toISOString().slice(0, -".000Z".length) };
  }
  return lastSecond.text;
}

/** Milliseconds since the epoch, or undefined for what is not an RFC 3339 date-time. Any offset is taken. */
export function parseTimestamp(text: string): number | undefined {
  const match = RFC_3339.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number);
  if (year === undefined || month === undefined || day === undefined) return undefined;
  if (hour === undefined || minute === undefined || second === undefined) return undefined;
  const offset = parseOffset(match[8] ?? "Z");
  if (offset === undefined || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const time = new Date(0);
  time.setUTCFullYear(year, month - 1, day);
  time.setUTCHours(hour, minute, second);
  return time.getTime() + Number(`0.${match[7] ?? "0"}`) * 1000 - offset * MS_PER_MINUTE;
}

/** Minutes east of Greenwich. */
function parseOffset(text: string): number | undefined {
  if (text === "Z") return 0;
  const hours = Number(text.slice(1, 3));
  const minutes = Number(text.slice(4, 6));
  if (hours > 24 || minutes > 60) return undefined;
  return (text.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
}

function daysInMonth(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  if (month === 2) return leap ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

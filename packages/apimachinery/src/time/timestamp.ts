// Points in time as API objects carry them: RFC 3339, whole seconds in metadata, microseconds in leases and audit.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/time.go, micro_time.go

import type { Timestamp } from "../meta/object-meta.ts";

/** The part after the whole seconds. */
const FRACTION_AND_OFFSET = /^(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;
const SECONDS_LENGTH = "2026-01-02T15:04:05".length;
const MS_PER_MINUTE = 60_000;
/** The calendar repeats after them. */
const [YEARS_OF_CYCLE, MS_OF_CYCLE] = [400, 146_097 * 24 * 3600_000];

/** `2026-01-02T15:04:05Z`; parts of a second are cut off. `milliseconds` since the epoch, years 0 to 9999. */
export function formatTimestamp(milliseconds: number): Timestamp {
  const second = Math.floor(milliseconds / 1000);
  const slot = Math.imul(second, MULTIPLIER) >>> SLOT_SHIFT;
  const known = lastFormatted[slot];
  if (known?.second === second) return known.text;
  const text = `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
  lastFormatted[slot] = { second, text };
  return text;
}

/** Spreads seconds over 64 slots: a minute or a day apart they end with the same bits. */
const MULTIPLIER = 0x9e3779b1;
const SLOT_SHIFT = 26;
/** Most formatted times are the present, and the end of things made now. */
const lastFormatted: { readonly second: number; readonly text: Timestamp }[] = [];

/** `2026-01-02T15:04:05.678000Z`, the form of MicroTime. A fraction of a millisecond is kept. */
export function formatMicroTime(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  const micros = Math.floor((milliseconds - second * 1000) * 1000);
  return `${secondText(second)}.${String(micros).padStart(6, "0")}Z`;
}

let lastSecond: { readonly second: number; readonly text: string } | undefined;

/** Most formatted times are the present, of which a second lasts long. */
function secondText(second: number): string {
  if (lastSecond?.second !== second) {
    lastSecond = { second, text: new Date(second * 1000).toISOString().slice(0, -".000Z".length) };
  }
  return lastSecond.text;
}

/** Milliseconds since the epoch; undefined if the text is not an RFC 3339 date-time. Any offset is accepted. */
export function parseTimestamp(text: string): number | undefined {
  const year = numberAt(text, 0) * 100 + numberAt(text, 2);
  const month = numberAt(text, 5);
  const day = numberAt(text, 8);
  const hour = numberAt(text, 11);
  const minute = numberAt(text, 14);
  const second = numberAt(text, 17);
  if (text[4] !== "-" || text[7] !== "-" || text[10] !== "T" || text[13] !== ":" || text[16] !== ":") return undefined;
  // Written so that it is false for NaN, which is no number at its place.
  const isDay = year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month);
  if (!isDay || !(hour <= 23 && minute <= 59 && second <= 59)) return undefined;
  // A cycle later and back: Date.UTC takes years below 100 for those of the 20th century.
  const time = Date.UTC(year + YEARS_OF_CYCLE, month - 1, day, hour, minute, second) - MS_OF_CYCLE;
  if (text.length === SECONDS_LENGTH + 1 && text[SECONDS_LENGTH] === "Z") return time;
  const match = FRACTION_AND_OFFSET.exec(text.slice(SECONDS_LENGTH));
  const offset = match === null ? undefined : parseOffset(match[2] ?? "Z");
  return offset === undefined ? undefined : time + Number(`0.${match?.[1] ?? "0"}`) * 1000 - offset * MS_PER_MINUTE;
}

/** Whether a text is as `formatTimestamp` writes it: whole seconds in UTC. */
export const isCanonicalTimestamp = (text: string): boolean =>
  text.length === SECONDS_LENGTH + 1 && text[SECONDS_LENGTH] === "Z" && parseTimestamp(text) !== undefined;

/** Two digits, or NaN. */
function numberAt(text: string, at: number): number {
  return digitAt(text, at) * 10 + digitAt(text, at + 1);
}

function digitAt(text: string, at: number): number {
  const digit = text.charCodeAt(at) - 0x30;
  return digit >= 0 && digit <= 9 ? digit : Number.NaN;
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

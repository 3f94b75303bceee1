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

// Parses times in the two layouts of Kubernetes as Go does, with Go's error messages.
// Source: time (Parse), k8s.io/apimachinery/pkg/apis/meta/v1/{time,micro_time}.go

type GoTime =
  | {
      /** In UTC, as Kubernetes writes it: to the second, or to the microsecond. */
      readonly text: string;
    }
  | { readonly fault: string };

type Precision = "second" | "microsecond";

const LAYOUTS: { readonly [precision in Precision]: string } = {
  second: "2006-01-02T15:04:05Z07:00",
  microsecond: "2006-01-02T15:04:05.000000Z07:00",
};

/** Text that a part of the layout takes, and the range of the number in it. */
type Part = {
  readonly layout: string;
  readonly pattern: RegExp;
  readonly range?: readonly [least: number, most: number, what: string];
};

const DATE_AND_TIME: readonly Part[] = [
  { layout: "2006", pattern: /^\d{4}/ },
  { layout: "-", pattern: /^-/ },
  { layout: "01", pattern: /^\d{2}/, range: [1, 12, "month"] },
  { layout: "-", pattern: /^-/ },
  { layout: "02", pattern: /^\d{2}/ },
  { layout: "T", pattern: /^T/ },
  { layout: "15", pattern: /^\d{1,2}/, range: [0, 23, "hour"] },
  { layout: ":", pattern: /^:/ },
  { layout: "04", pattern: /^\d{2}/, range: [0, 59, "minute"] },
  { layout: ":", pattern: /^:/ },
  { layout: "05", pattern: /^\d{2}/, range: [0, 59, "second"] },
];
const MICROSECONDS: Part = { layout: ".000000", pattern: /^[.,]\d{6}/ };
/** Taken also where the layout has no place for it. */
const FRACTION: Part = { layout: "", pattern: /^(?:[.,]\d+)?/ };
const ZONE: Part = { layout: "Z07:00", pattern: /^(?:Z|[+-]\d{2}:\d{2})/ };

export function parseGoTime(text: string, precision: Precision): GoTime {
  const faultOf = (why: string): GoTime => ({ fault: `parsing time ${JSON.stringify(text)}${why}` });
  const values: string[] = [];
  let rest = text;
  for (const { layout, pattern, range } of [...DATE_AND_TIME, precision === "second" ? FRACTION : MICROSECONDS, ZONE]) {
    const found = pattern.exec(rest)?.[0];
    if (found === undefined) {
      return faultOf(
        ` as ${JSON.stringify(LAYOUTS[precision])}: cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(layout)}`,
      );
    }
    if (range !== undefined && (Number(found) < range[0] || Number(found) > range[1])) {
      return faultOf(`: ${range[2]} out of range`);
    }
    values.push(found);
    rest = rest.slice(found.length);
  }
  if (rest !== "") return faultOf(`: extra text: ${JSON.stringify(rest)}`);
  const [year = "", , month = "", , day = "", , hour = "", , minute = "", , second = "", fraction = "", zone = ""] =
    values;
  if (Number(day) < 1 || Number(day) > daysIn(Number(year), Number(month))) return faultOf(": day out of range");
  const [offsetHours = 0, offsetMinutes = 0] = zone === "Z" ? [] : zone.slice(1).split(":").map(Number);
  if (offsetHours > 24) return faultOf(": time zone offset hour out of range");
  if (offsetMinutes > 60) return faultOf(": time zone offset minute out of range");
  const time = new Date(`${year}-${month}-${day}T${hour.padStart(2, "0")}:${minute}:${second}Z`);
  const offset = (offsetHours * 60 + offsetMinutes) * (zone.startsWith("-") ? -1 : 1);
  const inUtc = new Date(time.getTime() - offset * 60_000).toISOString().slice(0, 19);
  return { text: `${inUtc}${precision === "second" ? "" : `.${fraction.slice(1)}`}Z` };
}

const daysIn = (year: number, month: number): number =>
  new Date(Date.UTC(year < 100 ? year + 400 : year, month, 0)).getUTCDate();

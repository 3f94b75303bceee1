// The texts are those of Go's time package.

import { expect, it } from "vitest";
import { parseGoTime } from "./parse-go-time.ts";

const MICRO = "2006-01-02T15:04:05.000000Z07:00";

it.each<[text: string, precision: "second" | "microsecond", read: string]>([
  ["2026-01-02T03:04:05Z", "second", "2026-01-02T03:04:05Z"],
  ["2026-01-02T03:04:05.999+02:00", "second", "2026-01-02T01:04:05Z"],
  ["2026-01-02T3:04:05Z", "second", "2026-01-02T03:04:05Z"],
  ["2026-01-02T03:04:05.123456-01:30", "microsecond", "2026-01-02T04:34:05.123456Z"],
])("reads %j to the %s", (text, precision, read) => expect(parseGoTime(text, precision)).toEqual({ text: read }));

it.each<[text: string, precision: "second" | "microsecond", fault: string]>([
  ["", "second", 'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'],
  ["2026/01", "second", 'parsing time "2026/01" as "2006-01-02T15:04:05Z07:00": cannot parse "/01" as "-"'],
  ["2026-13-01T00:00:00Z", "second", 'parsing time "2026-13-01T00:00:00Z": month out of range'],
  ["2026-02-29T00:00:00Z", "second", 'parsing time "2026-02-29T00:00:00Z": day out of range'],
  ["2026-02-01T24:00:00Z", "second", 'parsing time "2026-02-01T24:00:00Z": hour out of range'],
  ["2026-02-01T00:00:00Zx", "second", 'parsing time "2026-02-01T00:00:00Zx": extra text: "x"'],
  [
    "2026-01-02T03:04:05Z",
    "microsecond",
    `parsing time "2026-01-02T03:04:05Z" as "${MICRO}": cannot parse "Z" as ".000000"`,
  ],
  [
    "2026-01-02T03:04:05.123Z",
    "microsecond",
    `parsing time "2026-01-02T03:04:05.123Z" as "${MICRO}": cannot parse ".123Z" as ".000000"`,
  ],
  [
    "2026-01-02T03:04:05.1234567Z",
    "microsecond",
    `parsing time "2026-01-02T03:04:05.1234567Z" as "${MICRO}": cannot parse "7Z" as "Z07:00"`,
  ],
])("refuses %j to the %s", (text, precision, fault) => expect(parseGoTime(text, precision)).toEqual({ fault }));

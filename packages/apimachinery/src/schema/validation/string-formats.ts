// Meaning of the `format` of a string field. Formats that are not listed here check nothing, as upstream.
// Source: k8s.io/kube-openapi/pkg/validation/strfmt, apiextensions-apiserver/pkg/apiserver/validation/formats.go

import { isCanonicalTimestamp } from "../../time/timestamp.ts";
import { byteLength } from "../../validation/byte-length.ts";
import { isCidr, isIPv4, isIPv6 } from "./ip-address.ts";

export type StringFormat = (text: string) => boolean;

const matches =
  (pattern: RegExp): StringFormat =>
  (text) =>
    pattern.test(text);

const FORMATS: ReadonlyMap<string, StringFormat> = new Map<string, StringFormat>([
  ["bsonobjectid", matches(/^[0-9a-f]{24}$/i)],
  // Go's []byte fields write nothing as "", which the library upstream uses for CRDs refuses.
  ["byte", (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)],
  ["cidr", isCidr],
  ["creditcard", isCreditCard],
  ["date", isDate],
  ["datetime", isDateTime],
  ["duration", isDuration],
  ["email", isEmail],
  ["hexcolor", matches(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ["hostname", isHostname],
  ["ipv4", isIPv4],
  ["ipv6", isIPv6],
  ["isbn", (text) => isIsbn10(text) || isIsbn13(text)],
  ["isbn10", isIsbn10],
  ["isbn13", isIsbn13],
  ["mac", isMac],
  ["password", () => true],
  ["quantity", matches(/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+|[EPTGMK]i|[numkMGTPE])?$/)],
  ["rgbcolor", isRgbColor],
  ["ssn", matches(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ["uri", isRequestUri],
  ["uuid", matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ["uuid3", matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ["uuid4", matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ["uuid5", matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
]);

/** Dashes in the name do not count: `date-time` is `datetime`. */
export const findStringFormat = (name: string): StringFormat | undefined => FORMATS.get(name.replaceAll("-", ""));

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  const monthNumber = Number(month);
  if (monthNumber < 1 || monthNumber > 12 || day === "00") return false;
  return Number(day) <= daysInMonth(Number(year), monthNumber);
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

function isDateTime(text: string): boolean {
  if (isCanonicalTimestamp(text)) return true;
  const [date = "", time = ""] = text.toLowerCase().split("t");
  const [, hour, minute, second] = /^(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/.exec(time) ?? [];
  if (hour === undefined || minute === undefined || second === undefined) return false;
  return isDate(date) && hour <= "23" && minute <= "59" && second <= "59";
}

const GO_DURATION = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;
const UNIT_AMOUNT = /(?<!\d)\d+\s*([A-Za-zµ]+)/g;
const UNITS = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
const UNIT_WORDS = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];

/** `1h30m`, or an amount with a unit in words: `22 seconds`. */
function isDuration(text: string): boolean {
  if (GO_DURATION.test(text)) return true;
  for (const [, word = ""] of text.matchAll(UNIT_AMOUNT)) {
    const unit = word.toLowerCase();
    if (UNITS.includes(unit) || UNIT_WORDS.some((begin) => unit.startsWith(begin))) return true;
  }
  return false;
}

const ADDRESS = /^[^\s@<>(),;:\\"[\]]+@(?:[^\s@<>(),;:\\"[\]]+|\[[^\s[\]]+\])$/;

/** `a@example.com` or `Ada <a@example.com>` */
function isEmail(text: string): boolean {
  const trimmed = text.trim();
  const named = trimmed.endsWith(">") ? trimmed.slice(trimmed.lastIndexOf("<") + 1, -1) : trimmed;
  if (!ADDRESS.test(named)) return false;
  return !named.includes("..") && !named.startsWith(".") && !named.includes(".@");
}

const HOST_LABEL = /^[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\p{S}\p{L}-]*[a-zA-Z0-9\p{S}\p{L}])?$/u;

function isHostname(text: string): boolean {
  return byteLength(text) <= 255 && text.split(".").every((label) => byteLength(label) <= 63 && HOST_LABEL.test(label));
}

/** Whether the text may occur in a request line: an absolute path, or a URI with a scheme. */
function isRequestUri(text: string): boolean {
  if (hasControlCharacter(text) || /%(?![0-9A-Fa-f]{2})/.test(text)) return false;
  if (text.startsWith("/")) return true;
  const [, rest] = /^[A-Za-z][A-Za-z0-9+.-]*:(.*)$/s.exec(text) ?? [];
  if (rest === undefined) return false;
  const [, authority = ""] = /^\/\/([^/?#]*)/.exec(rest) ?? [];
  return !/[\s<>"{}|\\^`]/.test(authority);
}

const hasControlCharacter = (text: string): boolean => [...text].some((char) => char < " " || char === "\x7f");

/** 6, 8 or 20 bytes in one of the usual notations. */
function isMac(text: string): boolean {
  const bytes = /^[0-9A-Fa-f]{4}\./.test(text) ? text.split(".").map((group) => /^[0-9A-Fa-f]{4}$/.test(group)) : [];
  if (bytes.length > 0) return [3, 4, 10].includes(bytes.length) && bytes.every(Boolean);
  const pairs = text.split(text.includes(":") ? ":" : "-");
  return [6, 8, 20].includes(pairs.length) && pairs.every((pair) => /^[0-9A-Fa-f]{2}$/.test(pair));
}

function isRgbColor(text: string): boolean {
  const [, ...parts] = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text) ?? [];
  return parts.length === 3 && parts.every((part) => /^(?:0|[1-9]\d*)$/.test(part) && Number(part) <= 255);
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]/g, "");
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce(
    (total, digit, index) => total + (10 - index) * (digit === "X" ? 10 : Number(digit)),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]/g, "");
  if (!/^\d{13}$/.test(digits)) return false;
  return [...digits].reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0) % 10 === 0;
}

const CARD_NUMBER =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;

/** A number of one of the issuers, with its check digit. */
function isCreditCard(text: string): boolean {
  const digits = text.replace(/\D/g, "");
  if (!CARD_NUMBER.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const doubled = Number(digit) * (index % 2 === 1 ? 2 : 1);
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}

// Prints JSON as YAML in block style with sorted keys, as kubectl shows it, in a form that every YAML version reads alike.
// Source: sigs.k8s.io/yaml/goyaml.v2/{encode.go,emitterc.go}

import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { stringifyJson } from "../json/stringify-json.ts";
import { MERGE_KEY, resolveYamlScalar } from "./resolve-yaml-scalar.ts";

/** Longer keys are written behind a question mark, since parsers bound how far they look for the colon. */
const MAX_SIMPLE_KEY_LENGTH = 128;

/** One document, ended by a newline. `decodeYaml` gives the same value back. */
export function encodeYaml(value: JsonValue): string {
  return `${formatBlock(value, 0)}\n`;
}

/** The text from the current column on; every further line is indented by `indent` spaces or more. */
function formatBlock(value: JsonValue, indent: number): string {
  if (typeof value === "string") return formatYamlString(value, Math.max(indent, 2));
  if (isJsonArray(value)) return formatSequence(value, indent);
  if (isJsonObject(value)) return formatMapping(value, indent);
  return stringifyJson(value);
}

function formatSequence(items: JsonArray, indent: number): string {
  if (items.length === 0) return "[]";
  return items.map((item) => `- ${formatBlock(item, indent + 2)}`).join(newLine(indent));
}

function formatMapping(object: JsonObject, indent: number): string {
  const entries: string[] = [];
  for (const name of Object.keys(object).sort(compareYamlKeys)) {
    const value = object[name];
    if (value === undefined) continue;
    const key = formatYamlKey(name);
    if (key.length > MAX_SIMPLE_KEY_LENGTH) {
      entries.push(`? ${key}${newLine(indent)}: ${formatBlock(value, indent + 2)}`);
    } else entries.push(`${key}:${formatMemberValue(value, indent)}`);
  }
  return entries.length === 0 ? "{}" : entries.join(newLine(indent));
}

/** A nested mapping goes one step in, a sequence stays in its parent's column. */
function formatMemberValue(value: JsonValue, indent: number): string {
  const block = formatBlock(value, isJsonArray(value) ? indent : indent + 2);
  if (isJsonArray(value) && value.length > 0) return newLine(indent) + block;
  if (isJsonObject(value) && block !== "{}") return newLine(indent + 2) + block;
  return ` ${block}`;
}

const newLine = (indent: number): string => `\n${" ".repeat(indent)}`;

// The order in which Go's YAML encoder prints keys: numbers within names by value, letters behind other characters.
// Source: sigs.k8s.io/yaml/goyaml.v2/sorter.go

const isDigit = (char: string | undefined): boolean => char !== undefined && /^\p{Nd}$/u.test(char);
const isLetter = (char: string): boolean => /^\p{L}$/u.test(char);

/** Negative when `a` comes first. `a2` comes before `a10`, `a-b` before `ab`. */
export function compareYamlKeys(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  const common = commonPrefixLength(left, right);
  const leftChar = left[common];
  const rightChar = right[common];
  if (leftChar === undefined || rightChar === undefined) return left.length - right.length;
  const leftIsLetter = isLetter(leftChar);
  const rightIsLetter = isLetter(rightChar);
  if (leftIsLetter && rightIsLetter) return compareCodePoints(leftChar, rightChar);
  if (leftIsLetter || rightIsLetter) {
    // Behind a digit letters come first, so that a number ends before a longer one goes on.
    return leftIsLetter === isDigit(left[common - 1]) ? -1 : 1;
  }
  const leftNumber = digitsFrom(left, common);
  const rightNumber = digitsFrom(right, common);
  if (leftNumber !== "" || rightNumber !== "") {
    const order = compareNumbers(numberBefore(left, common) + leftNumber, numberBefore(right, common) + rightNumber);
    if (order !== 0) return order;
    if (leftNumber.length !== rightNumber.length) return leftNumber.length - rightNumber.length;
  }
  return compareCodePoints(leftChar, rightChar);
}

function commonPrefixLength(a: readonly string[], b: readonly string[]): number {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  return i;
}

const compareCodePoints = (a: string, b: string): number => (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);

function digitsFrom(chars: readonly string[], start: number): string {
  let end = start;
  while (isDigit(chars[end])) end++;
  return chars.slice(start, end).join("");
}

/** The digits that end just before `end`, which belong to the number that differs there. */
function numberBefore(chars: readonly string[], end: number): string {
  let start = end;
  while (isDigit(chars[start - 1])) start--;
  return chars.slice(start, end).join("");
}

/** By value, however many digits. */
function compareNumbers(a: string, b: string): number {
  const left = a.replace(/^0+/, "");
  const right = b.replace(/^0+/, "");
  if (left.length !== right.length) return left.length - right.length;
  return left < right ? -1 : left > right ? 1 : 0;
}

// Chooses how a string is written in YAML: bare, quoted, or as a literal block.
// Source: sigs.k8s.io/yaml/goyaml.v2/{encode.go,emitterc.go}

/** Texts that some reader of YAML 1.1 would take for a date, a sexagesimal number, or a value of its own. */
const READ_DIFFERENTLY_ELSEWHERE = [
  /^\d{4}-\d\d?-\d\d?/,
  /^[-+]?\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?$/,
  /^[-+.]?[\d_][\d_.eE+-]*$/,
  /^=$/,
];

/** Control characters and what a YAML text may not contain, or would break lines at. Newline is looked at apart. */
const SPECIAL = /[^\P{Cc}\n]|[\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]/u;
const INDICATOR_FIRST = /^[,[\]{}#&*!|>'"%@`]|^[-?:](\s|$)|^(---|\.\.\.)/;
const INDICATOR_INSIDE = /:(\s|$)|\s#/;

/** `indent` is the column of a literal block's lines. */
function formatYamlString(text: string, indent: number): string {
  if (!text.includes("\n")) return formatYamlKey(text);
  return fitsLiteral(text) ? formatLiteral(text, indent) : formatDoubleQuoted(text);
}

/** The text in one line. */
function formatYamlKey(text: string): string {
  if (text.includes("\n") || SPECIAL.test(text)) return formatDoubleQuoted(text);
  if (isAmbiguous(text)) return formatDoubleQuoted(text);
  if (text !== text.trim() || INDICATOR_FIRST.test(text) || INDICATOR_INSIDE.test(text)) {
    return `'${text.replaceAll("'", "''")}'`;
  }
  return text;
}

/** Bare, it would not be read as a string everywhere. */
const isAmbiguous = (text: string): boolean =>
  text === MERGE_KEY ||
  typeof resolveYamlScalar(text) !== "string" ||
  READ_DIFFERENTLY_ELSEWHERE.some((pattern) => pattern.test(text));

/** A literal block can show neither special characters nor white space where it would not be seen. */
const fitsLiteral = (text: string): boolean => /^\S/.test(text) && !SPECIAL.test(text) && !/[^\S\n](\n|$)/.test(text);

function formatLiteral(text: string, indent: number): string {
  const keepsBreaks = text.endsWith("\n\n");
  const header = keepsBreaks ? "|+" : text.endsWith("\n") ? "|" : "|-";
  const lines = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
  const pad = " ".repeat(indent);
  return [header, ...lines.map((line) => (line === "" ? "" : pad + line))].join("\n");
}

function formatDoubleQuoted(text: string): string {
  // JSON's escapes are YAML's too. A lone surrogate has no form in UTF-8; Go writes the replacement character for it.
  const quoted = JSON.stringify(text.replace(/[\ud800-\udfff]/gu, "\ufffd"));
  return quoted.replace(/[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g, escapeCodeUnit);
}

const escapeCodeUnit = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

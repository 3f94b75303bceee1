// Chooses how a string is written in YAML: bare, quoted, or as a literal block.
// Source: sigs.k8s.io/yaml/goyaml.v2/{encode.go,emitterc.go}

import { MERGE_KEY, resolveYamlScalar } from "./resolve-yaml-scalar.ts";

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
export function formatYamlString(text: string, indent: number): string {
  if (!text.includes("\n")) return formatYamlKey(text);
  return fitsLiteral(text) && !isMostlyIndentation(text, indent)
    ? formatLiteral(text, indent)
    : formatDoubleQuoted(text);
}

/** Columns that a literal block of any text may begin at. */
const USUAL_INDENT = 8;
/** How many times as long as the text its indentation may be beyond that. */
const MAX_INDENTATION = 4;

/** Lines of one character become many times as long in a deep block. */
const isMostlyIndentation = (text: string, indent: number): boolean =>
  indent > USUAL_INDENT && text.split("\n").length * indent > text.length * MAX_INDENTATION + indent;

/** The text in one line. */
export function formatYamlKey(text: string): string {
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

/** In one line, and the same string for every reader. */
export function formatDoubleQuoted(text: string): string {
  // JSON's escapes are YAML's too. A lone surrogate has no form in UTF-8; Go writes the replacement character for it.
  const quoted = JSON.stringify(text.replace(/[\ud800-\udfff]/gu, "\ufffd"));
  return quoted.replace(/[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g, escapeCodeUnit);
}

const escapeCodeUnit = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

// Words syntax errors of YAML as Go's parser does, including its line numbers.
// Source: sigs.k8s.io/yaml/goyaml.v2/{decode,parserc,scannerc,readerc}.go

import type { YAMLError } from "yaml";
import { YamlError } from "./yaml-error.ts";

/** Characters that no YAML text may hold. A byte order mark may begin one. */
const UNPRINTABLE = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u;

/** The fault of a text with a character that no YAML text may hold; undefined without one. */
export function unprintableError(text: string): YamlError | undefined {
  return UNPRINTABLE.test(text.startsWith("\ufeff") ? text.slice(1) : text)
    ? new YamlError("yaml: control characters are not allowed")
    : undefined;
}

/** `errors` are what our parser found, of which there is at least one. */
export function goYamlError(errors: readonly YAMLError[], text: string): YamlError {
  const [first] = errors;
  if (first === undefined) return new YamlError("yaml: unknown problem parsing YAML content");
  const { code, message, pos } = first;
  const at = pos[0];
  switch (code) {
    case "RESOURCE_EXHAUSTION":
      return new YamlError("yaml: exceeded max depth");
    case "TAB_AS_INDENT":
    case "BAD_SCALAR_START":
      return scannerFault(text, at, "found character that cannot start any token");
    case "BLOCK_AS_IMPLICIT_KEY":
    case "MULTILINE_IMPLICIT_KEY":
      return keyFault(errors, text);
    case "BAD_DQ_ESCAPE":
      return scannerFault(text, at, escapeFault(text, at));
    case "BAD_ALIAS":
      return scannerFault(text, at, "did not find expected alphabetic or numeric character");
    case "BAD_INDENT":
      return message.startsWith("Flow") ? unclosedFault(text, at) : parserFault(text, at, itemFault(message));
    case "MISSING_CHAR":
      return missingFault(text, message, pos);
    case "UNEXPECTED_TOKEN":
      return unexpectedFault(text, message, at);
    default:
      return parserFault(text, at, message);
  }
}

const MAPPING_VALUES = "mapping values are not allowed in this context";
const NO_KEY = "did not find expected key";
const NO_NODE = "did not find expected node content";

const itemFault = (message: string): string =>
  message.includes("sequence") ? "did not find expected '-' indicator" : NO_KEY;

/** Lines before an offset. */
function linesBefore(text: string, offset: number): number {
  let lines = 0;
  for (let i = text.indexOf("\n"); i >= 0 && i < offset; i = text.indexOf("\n", i + 1)) lines++;
  return lines;
}

/** Faults of the scanner name their line, but never the first one. */
function scannerFault(text: string, offset: number, what: string): YamlError {
  const lines = linesBefore(text, offset);
  return new YamlError(lines === 0 ? `yaml: ${what}` : `yaml: line ${lines + 1}: ${what}`);
}

/** Faults of the parser name the line before, which the first one has not. */
function parserFault(text: string, offset: number, what: string): YamlError {
  const lines = linesBefore(text, offset);
  return new YamlError(lines === 0 ? `yaml: ${what}` : `yaml: line ${lines}: ${what}`);
}

/** A colon where no value may begin: the text before it is no key. */
function keyFault(errors: readonly YAMLError[], text: string): YamlError {
  const [first] = errors;
  const at = first?.pos[0] ?? 0;
  // An item of a list below a mapping, where only another key could stand.
  if (/^-\s/.test(text.slice(at, at + 2))) return parserFault(text, at, NO_KEY);
  const multiline = errors.find(({ code }) => code === "MULTILINE_IMPLICIT_KEY");
  const colon = multiline === undefined ? at : multiline.pos[1];
  if (errors.some((error) => error.code === "BLOCK_IN_FLOW")) {
    return parserFault(text, colon, `did not find expected ',' or '${innermostClosing(text.slice(0, colon))}'`);
  }
  const isKeyOfMapping = first?.code === "MULTILINE_IMPLICIT_KEY" && beginsLineAfterKeyAt(text, at);
  return scannerFault(text, colon, isKeyOfMapping ? NO_COLON : MAPPING_VALUES);
}

const NO_COLON = "could not find expected ':'";

/** Whether a line before the one of `offset` begins a key in the same column, so that another key has to follow. */
function beginsLineAfterKeyAt(text: string, offset: number): boolean {
  const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
  const indent = text.slice(lineStart, offset);
  if (indent.trim() !== "") return false;
  return text
    .slice(0, lineStart)
    .split("\n")
    .some((line) => line.startsWith(indent) && /^[^\s#-][^#]*:(\s|$)/.test(line.slice(indent.length)));
}

/** A flow collection that does not end: Go misses a value behind what asks for one, else the next entry. */
function unclosedFault(text: string, at: number): YamlError {
  const before = text.slice(0, at).trimEnd();
  // Nothing but white space behind it: the fault is at the end of the text.
  const offset = text.slice(at).trim() === "" ? text.length : at;
  if (/[[{,:]$/.test(before)) return parserFault(text, offset, NO_NODE);
  return parserFault(text, offset, `did not find expected ',' or '${innermostClosing(before)}'`);
}

/** The bracket that would end the innermost collection still open. Quoted brackets count, too: this only words a fault. */
function innermostClosing(text: string): string {
  const closing: string[] = [];
  for (const char of text) {
    if (char === "[") closing.push("]");
    else if (char === "{") closing.push("}");
    else if (char === closing.at(-1)) closing.pop();
  }
  return closing.at(-1) ?? "}";
}

const HEX_ESCAPE = /^\\[xuU]/;

function escapeFault(text: string, at: number): string {
  return HEX_ESCAPE.test(text.slice(at, at + 2))
    ? "did not find expected hexdecimal number"
    : "found unknown escape character";
}

function missingFault(text: string, message: string, pos: readonly [number, number]): YamlError {
  if (message.startsWith("Flow")) return unclosedFault(text, pos[0]);
  if (message.startsWith("Missing closing")) {
    return scannerFault(text, text.length, "found unexpected end of stream");
  }
  if (message.startsWith("Implicit map keys")) {
    // Go notices at the token that follows.
    const rest = text.slice(pos[0]);
    const line = rest.indexOf("\n");
    const next = line === -1 ? -1 : rest.slice(line).search(/\S/);
    return scannerFault(text, next === -1 ? text.length : pos[0] + line + next, NO_COLON);
  }
  if (text.startsWith("%")) return scannerFault(text, 0, "found unknown directive name");
  return parserFault(text, pos[0], message);
}

function unexpectedFault(text: string, message: string, at: number): YamlError {
  const char = text.charAt(at);
  if (message.includes("on same line with key")) {
    return scannerFault(text, at, "block sequence entries are not allowed in this context");
  }
  if (message.startsWith("Block scalar header")) {
    return scannerFault(text, at, "did not find expected comment or line break");
  }
  if (char === "]" || char === "}") {
    const hasValue = !/:\s*$/.test(text.slice(0, at));
    return parserFault(text, at, hasValue ? NO_KEY : NO_NODE);
  }
  const lineStart = text.lastIndexOf("\n", at - 1) + 1;
  const isBehindList = at === lineStart && /(?:^|\n)-\s/.test(text.slice(0, at));
  return parserFault(text, at, isBehindList ? "did not find expected '-' indicator" : NO_KEY);
}

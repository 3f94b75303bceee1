// Reads the first document of a YAML 1.1 text as JSON, the way kube-apiserver reads `application/yaml` bodies.
// Source: sigs.k8s.io/yaml/yaml.go, sigs.k8s.io/yaml/goyaml.v2/decode.go

import { Composer, type CST, LineCounter, type ParsedNode, type YAMLError } from "yaml";
import { findDuplicateFields, MAX_STRICT_ERRORS } from "../json/find-duplicate-fields.ts";
import { JsonSyntaxError } from "../json/json-syntax-error.ts";
import type { JsonValue } from "../json/json-value.ts";
import { parseJson } from "../json/parse-json.ts";
import { goYamlError, unprintableError } from "./go-yaml-error.ts";
import { tokensWithinDepth } from "./tokens-within-depth.ts";
import { YamlError } from "./yaml-error.ts";
import { yamlNodeToJson } from "./yaml-node-to-json.ts";

export type DecodedYaml = {
  readonly value: JsonValue;
  /** Such as `line 7: key "user" already set in map`: the last one won. At most 100. */
  readonly duplicates: readonly string[];
};

export type YamlLimits = {
  /** UTF-16 units of text. Parsing takes about half a second per million. */
  readonly maxLength: number;
  /** Nested mappings and sequences, also through aliases. */
  readonly maxDepth: number;
  /** Nodes and characters that aliases may add beyond what the text spells out. */
  readonly maxAliasedSize: number;
};

export const DEFAULT_YAML_LIMITS: YamlLimits = { maxLength: 1024 * 1024, maxDepth: 200, maxAliasedSize: 100_000 };

/**
 * Everything behind the first document is ignored; an empty text is null. Keys become strings (`1:` is "1", `on:` is
 * "true"). A JSON text is read as JSON, without the YAML limit on length.
 * @throws YamlError
 */
export function decodeYaml(text: string, limits: Partial<YamlLimits> = {}): DecodedYaml {
  const all = { ...DEFAULT_YAML_LIMITS, ...limits };
  return decodeAsJson(text) ?? decodeAsYaml(text, all);
}

/** Undefined if the text is not JSON, and for duplicates, which are reported with their line. */
function decodeAsJson(text: string): DecodedYaml | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    const value = parseJson(text);
    return findDuplicateFields(text).length === 0 ? { value, duplicates: [] } : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

function decodeAsYaml(text: string, limits: YamlLimits): DecodedYaml {
  if (text.length > limits.maxLength) throw new YamlError(`yaml: text is longer than ${limits.maxLength} characters`);
  const unprintable = unprintableError(text);
  if (unprintable !== undefined) throw unprintable;
  const lines = new LineCounter();
  const { contents, errors } = composeFirstDocument(text, limits.maxDepth, lines);
  if (errors.length > 0) throw goYamlError(errors, text);
  const duplicates: string[] = [];
  const value = yamlNodeToJson(contents, {
    ...limits,
    lineOf: (offset) => lines.linePos(offset).line,
    onDuplicate: (line, key) => {
      if (duplicates.length < MAX_STRICT_ERRORS) duplicates.push(`line ${line}: key ${key} already set in map`);
    },
  });
  return { value, duplicates };
}

type FirstDocument = { readonly contents: ParsedNode | null; readonly errors: readonly YAMLError[] };

function composeFirstDocument(text: string, maxDepth: number, lines: LineCounter): FirstDocument {
  // The failsafe schema keeps every scalar a string; what it means in YAML 1.1 as Go reads it is worked out afterwards.
  const composer = new Composer({ version: "1.1", schema: "failsafe", merge: false, uniqueKeys: false });
  for (const document of composer.compose(tokensOfFirstDocument(text, maxDepth, lines), true)) return document;
  return { contents: null, errors: [] };
}

/** Tokens are made on demand, so nothing behind the first document is even read, and its faults do not count. */
function* tokensOfFirstDocument(text: string, maxDepth: number, lines: LineCounter): Generator<CST.Token> {
  let complete = false;
  for (const token of tokensWithinDepth(text, maxDepth, lines)) {
    if (complete && (token.type === "document" || token.type === "doc-end")) return;
    yield token;
    complete ||= token.type === "document";
  }
}

// Prints JSON as YAML in block style with sorted keys, as kubectl shows it, in a form that every YAML version reads alike.
// Source: sigs.k8s.io/yaml/goyaml.v2/{encode.go,emitterc.go}

import { isJsonArray, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { stringifyJson } from "../json/stringify-json.ts";
import { compareYamlKeys } from "./compare-yaml-keys.ts";
import { formatDoubleQuoted, formatYamlKey, formatYamlString } from "./format-yaml-string.ts";

/** Longer keys are written behind a question mark, since parsers bound how far they look for the colon. */
const MAX_SIMPLE_KEY_LENGTH = 128;

/** Deeper values are written in flow style, which needs no indentation: it would be a thousand times as long as they are. */
const MAX_INDENT = 128;

/** One document, ended by a newline. `decodeYaml` gives the same value back. */
export function encodeYaml(value: JsonValue): string {
  return `${formatBlock(value, 0)}\n`;
}

/** The text from the current column on; every further line is indented by `indent` spaces or more. */
function formatBlock(value: JsonValue, indent: number): string {
  if (indent > MAX_INDENT) return formatFlow(value);
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

function formatFlow(value: JsonValue): string {
  if (typeof value === "string") return formatDoubleQuoted(value);
  if (isJsonArray(value)) return `[${value.map(formatFlow).join(", ")}]`;
  if (!isJsonObject(value)) return stringifyJson(value);
  const entries = Object.keys(value)
    .sort(compareYamlKeys)
    .flatMap((name) => {
      const member = value[name];
      if (member === undefined) return [];
      const key = formatDoubleQuoted(name);
      return [`${key.length > MAX_SIMPLE_KEY_LENGTH ? `? ${key} ` : key}: ${formatFlow(member)}`];
    });
  return `{${entries.join(", ")}}`;
}

/** A nested mapping goes one step in, a sequence stays in its parent's column. */
function formatMemberValue(value: JsonValue, indent: number): string {
  const block = formatBlock(value, isJsonArray(value) ? indent : indent + 2);
  if (isJsonArray(value) && value.length > 0) return newLine(indent) + block;
  if (isJsonObject(value) && !block.startsWith("{")) return newLine(indent + 2) + block;
  return ` ${block}`;
}

const newLine = (indent: number): string => `\n${" ".repeat(indent)}`;

// The body of an answer with one document, in the encoding the client asked for.

import { encodeYaml } from "@postern/apimachinery/yaml/encode-yaml";
import type { OutputMedia } from "./negotiate-output.ts";
import { decodeValue, jsonTextOf, keptBytes, type ObjectValue } from "./object-value.ts";
import { indentJson } from "./pretty.ts";

const NEWLINE = 0x0a;

/** Compact JSON and YAML end with a newline, pretty JSON does not, as upstream has it. */
export function encodeObject(value: ObjectValue, { format, pretty }: OutputMedia): Uint8Array | string {
  if (format === "yaml") return encodeYaml(decodeValue(value));
  if (pretty) return indentJson(jsonTextOf(value));
  const bytes = keptBytes(value);
  return bytes === undefined ? `${jsonTextOf(value)}\n` : withNewline(bytes);
}

/** The same bytes with a newline behind them: all the work there is in answering with a kept object. */
function withNewline(bytes: Uint8Array): Uint8Array {
  const body = Buffer.allocUnsafe(bytes.length + 1);
  body.set(bytes);
  body[bytes.length] = NEWLINE;
  return body;
}

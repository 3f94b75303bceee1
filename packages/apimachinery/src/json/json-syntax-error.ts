// The refusal of a text that is not JSON, worded as Go's encoding/json does since clients read that text.
// Source: https://go.dev/src/encoding/json/scanner.go

import { quoteGo } from "../text/go-quote.ts";

/** A text that is not JSON, or JSON that goes past a limit. The message is safe to show to the client. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

/** The fault at `offset`: an end of input where the text ends there, else `invalid character 'x' <context>`. */
export function unexpectedCharacter(text: string, offset: number, context: string): JsonSyntaxError {
  if (offset >= text.length) return new JsonSyntaxError("unexpected end of JSON input");
  return new JsonSyntaxError(`invalid character ${quoteByte(leadByte(text.charCodeAt(offset)))} ${context}`);
}

/** Go scans bytes, so what it names is the first byte of the character's UTF-8 form, read as Latin-1. */
function leadByte(codeUnit: number): number {
  if (codeUnit < 0x80) return codeUnit;
  if (codeUnit < 0x800) return 0xc0 | (codeUnit >> 6);
  if (codeUnit >= 0xd800 && codeUnit < 0xdc00) return 0xf0 | ((codeUnit - 0xd800 + 0x40) >> 8);
  return 0xe0 | (codeUnit >> 12);
}

function quoteByte(byte: number): string {
  const char = String.fromCharCode(byte);
  if (char === "'") return "'\\''";
  if (char === '"') return "'\"'";
  return `'${quoteGo(char).slice(1, -1)}'`;
}

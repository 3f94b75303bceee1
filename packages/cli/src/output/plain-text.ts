// Removes control sequences from texts of other programs before a terminal or a CI system interprets them.

import type { Output } from "../command-context.ts";

/** Control characters, other line ends, and characters that change the direction of the text around them. */
const ACTIVE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** The same within a text of several lines. */
export const ACTIVE_IN_LINES = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** On one line. */
export const plainText = (text: string): string => text.replaceAll(ACTIVE, " ");

/** Messages may quote a server that is not the one the user expects: only line feeds stay. */
export const withPlainText = (output: Output): Output => ({
  write: (text) => output.write(text.split("\n").map(plainText).join("\n")),
  ...(output.isTTY === undefined ? {} : { isTTY: output.isTTY }),
  raw: output,
});

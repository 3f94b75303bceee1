// Text of others as a terminal and a CI system shall see it: as text alone.

import type { Output } from "./command-context.ts";

/** Control characters, other line ends, and characters that change the direction of the text around them. */
const ACTIVE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** One line. */
export const plainText = (text: string): string => text.replaceAll(ACTIVE, " ");

/** Messages may quote the platform, which may be another than the user thinks: only their line ends are kept. */
export const withPlainText = (output: Output): Output => ({
  write: (text) => output.write(text.split("\n").map(plainText).join("\n")),
  ...(output.isTTY === undefined ? {} : { isTTY: output.isTTY }),
  raw: output,
});

// Reads lives as people write them: 90m, 12h, 30d, 2w.

import { InvalidArgumentError } from "commander";

const SECONDS: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Seconds; of numbers without a unit only 0 is taken. Throws commander's InvalidArgumentError, so that the message names the flag. */
export function parseDurationSeconds(text: string): number {
  if (text === "0") return 0;
  const match = /^(\d{1,10})([smhdw])$/.exec(text);
  const seconds = Number(match?.[1]) * (SECONDS[match?.[2] ?? ""] ?? Number.NaN);
  // A slip of units makes a key that ends at once, or one that lives on for years.
  if (!Number.isSafeInteger(seconds))
    throw new InvalidArgumentError("Write a number and a unit of s, m, h, d or w, such as 90m, 12h or 30d.");
  return seconds;
}

// Reads lives as people write them: 3600, 90m, 12h, 30d, 2w.

import { InvalidArgumentError } from "commander";

const SECONDS: { readonly [unit: string]: number } = { "": 1, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Seconds. Throws commander's InvalidArgumentError, so that the message names the flag. */
export function parseDurationSeconds(text: string): number {
  const match = /^(\d{1,10})([smhdw]?)$/.exec(text);
  const seconds = Number(match?.[1]) * (SECONDS[match?.[2] ?? ""] ?? Number.NaN);
  if (!Number.isSafeInteger(seconds))
    throw new InvalidArgumentError("Write a number and a unit, such as 90m, 12h or 30d.");
  return seconds;
}

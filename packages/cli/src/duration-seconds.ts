// Durations as users write them: 90m, 12h, 30d, 2w.

import { InvalidArgumentError } from "commander";

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Seconds; a number without a unit must be 0. Throws commander's InvalidArgumentError, so that the message names the flag. */
export function parseDurationSeconds(text: string): number {
  if (text === "0") return 0;
  const match = /^(\d{1,10})([smhdw])$/.exec(text);
  const length = Object.entries(SECONDS).find(([unit]) => unit === match?.[2])?.[1];
  const seconds = Number(match?.[1]) * (length ?? Number.NaN);
  // A wrong unit creates a key that expires immediately, or one that is valid for years.
  if (!Number.isSafeInteger(seconds))
    throw new InvalidArgumentError("Write a number and a unit of s, m, h, d or w, such as 90m, 12h or 30d.");
  return seconds;
}

/** The text for `parseDurationSeconds`, in the largest unit without a remainder; `0` for 0. */
export function formatDurationSeconds(seconds: number): string {
  if (seconds === 0) return "0";
  // Weeks are parsed but not printed: users expect 30d and 28d, not 4w.
  const [unit, length] = (["d", "h", "m"] as const)
    .map((name) => [name, SECONDS[name]] as const)
    .find(([, size]) => seconds % size === 0) ?? ["s", 1];
  return `${seconds / length}${unit}`;
}

// Compares the clock of this machine with others.

import { type Finding, fault, ok, warning } from "./finding.ts";

/** Dates of answers are cut to the second, and answers take a while. */
const UNSURE_MS = 2_000;
/** Certificates are valid from a minute before they are made. */
const WRONG_MS = 30_000;

/** `offsetMs` is the clock of the other minus ours; nothing is said where it is not known. */
export function clockFinding(whose: string, offsetMs: number | undefined): readonly Finding[] {
  if (offsetMs === undefined) return [];
  const seconds = Math.round(Math.abs(offsetMs) / 1000);
  if (seconds * 1000 <= UNSURE_MS) return [ok("clock", `the clock agrees with that of ${whose}`)];
  const message = `the clock of ${whose} is ${seconds} seconds ${offsetMs > 0 ? "ahead of" : "behind"} that of this machine`;
  const remedy = "synchronise both with the same time servers (NTP)";
  return [seconds * 1000 < WRONG_MS ? warning("clock", message, remedy) : fault("clock", message, remedy)];
}

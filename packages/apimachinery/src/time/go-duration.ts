// Reads and writes durations in Go's notation, such as `1h30m` and `1.5s`.
// Source: https://pkg.go.dev/time#ParseDuration

import { quoteGo } from "../text/go-quote.ts";

const MILLISECONDS: { readonly [unit: string]: number } = {
  ns: 1e-6,
  us: 1e-3,
  // Both letters for micro, U+00B5 and U+03BC.
  "\u00b5s": 1e-3,
  "\u03bcs": 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Go counts nanoseconds in an int64: about 292 years. */
const MAX_MILLISECONDS = 2 ** 63 / 1e6;
const TERM = /(\d*)(\.\d*)?([^.\d]*)/y;

/** A text that is not a duration. The message is Go's and may be shown to the client. */
export class GoDurationError extends Error {
  override readonly name = "GoDurationError";
}

/**
 * The duration in milliseconds, with fractions.
 * @throws GoDurationError such as `time: missing unit in duration "10"`
 */
export function parseGoDuration(text: string): number {
  const sign = text.startsWith("-") ? -1 : 1;
  const unsigned = text.replace(/^[+-]/, "");
  if (unsigned === "0") return 0;
  const invalid = () => new GoDurationError(`time: invalid duration ${quoteGo(text)}`);
  if (unsigned === "") throw invalid();
  const pattern = new RegExp(TERM);
  let total = 0;
  while (pattern.lastIndex < unsigned.length) {
    const [, whole = "", fraction = "", unit = ""] = pattern.exec(unsigned) ?? [];
    if (whole === "" && fraction.length <= 1) throw invalid();
    if (unit === "") throw new GoDurationError(`time: missing unit in duration ${quoteGo(text)}`);
    const scale = Object.hasOwn(MILLISECONDS, unit) ? MILLISECONDS[unit] : undefined;
    if (scale === undefined) {
      throw new GoDurationError(`time: unknown unit ${quoteGo(unit)} in duration ${quoteGo(text)}`);
    }
    total += Number(`${whole || "0"}${fraction === "." ? "" : fraction}`) * scale;
    if (total > MAX_MILLISECONDS) throw invalid();
  }
  return sign * total;
}

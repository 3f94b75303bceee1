// Reads a decimal int64 as Go's strconv.ParseInt(text, 10, 64) does.

const DECIMAL = /^[+-]?\d+$/;
const MAX_INT64 = 2n ** 63n - 1n;

/** The integer, or undefined for what is not one or does not fit. */
export function parseInt64(text: string): bigint | undefined {
  // Label values are short; the bound keeps BigInt, which takes quadratic time, away from anything else.
  if (text.length > 100 || !DECIMAL.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return value <= MAX_INT64 && value >= -MAX_INT64 - 1n ? value : undefined;
}

// Estimates an upper bound for the entropy of a value that a client has chosen: repetitions and predictable characters add nothing.

/** Below it a value could be guessed. */
export const MIN_ENTROPY_BITS = 128;

const CLASSES: readonly (readonly [pattern: RegExp, size: number])[] = [
  [/[0-9]/, 10],
  [/[a-f]/, 6],
  [/[g-z]/, 20],
  [/[A-F]/, 6],
  [/[G-Z]/, 20],
];
const GRAM = 4;
/** Random values repeat a little: this many bits are not subtracted. */
const TOLERANCE_BITS = 12;

/** In bits. Takes time in proportion to the length. */
export function estimateEntropy(value: string): number {
  const sizes = CLASSES.filter(([pattern]) => pattern.test(value)).map(([, size]) => size);
  const symbols = new Set(value.replace(/[0-9A-Za-z]/g, "")).size;
  const perCharacter = Math.log2(sizes.reduce((sum, size) => sum + size, symbols) || 1);
  const seen = new Set<string>();
  let predictable = 0;
  for (let at = 0; at < value.length; at++) {
    if (followsFrom(value, at) || (at >= GRAM - 1 && seen.has(value.slice(at - GRAM + 1, at + 1)))) predictable++;
    if (at >= GRAM - 1) seen.add(value.slice(at - GRAM + 1, at + 1));
  }
  const whole = value.length * perCharacter;
  return Math.min(whole, whole - predictable * perCharacter + TOLERANCE_BITS);
}

/** The third of three equal steps, such as `aaa`, `abc` and `987`. */
function followsFrom(value: string, at: number): boolean {
  if (at < 2) return false;
  const step = value.charCodeAt(at) - value.charCodeAt(at - 1);
  return Math.abs(step) <= 1 && step === value.charCodeAt(at - 1) - value.charCodeAt(at - 2);
}

// The order of keys: by UTF-8 bytes, and not by UTF-16 units as JavaScript compares strings.

/** Negative, zero or positive, as `a` sorts before, with or after `b` by UTF-8 bytes. They are known to be alike before `from`. */
export function compareKeys(a: string, b: string, from = 0): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let index = from; index < length; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** How many units both begin with. */
export function sharedLength(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let index = 0;
  while (index < length && a.charCodeAt(index) === b.charCodeAt(index)) index++;
  return index;
}

/** The smallest string after everything with this prefix; undefined for the empty prefix. */
export function prefixEnd(prefix: string): string | undefined {
  // Nearly every prefix ends with a slash.
  const end = prefix.charCodeAt(prefix.length - 1);
  if (end < FIRST_SURROGATE - 1) return prefix.slice(0, -1) + String.fromCharCode(end + 1);
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === LAST_CODE_POINT) continue;
    const next = last + 1;
    return String.fromCodePoint(...points, next === FIRST_SURROGATE ? AFTER_SURROGATES : next);
  }
  return undefined;
}

const FIRST_SURROGATE = 0xd800;
const AFTER_SURROGATES = 0xe000;
const LAST_CODE_POINT = 0x10ffff;

// A surrogate belongs to a code point above all those of one unit.
function rank(unit: number): number {
  return unit >= FIRST_SURROGATE && unit < AFTER_SURROGATES ? unit + LAST_CODE_POINT : unit;
}

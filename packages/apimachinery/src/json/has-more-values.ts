// Estimates the size of a JSON text before it is parsed.

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Beyond this many members, each member of an object costs about twice as much as in a small object, and so do items. */
export const MANY_MEMBERS = 1_000;

/**
 * Whether a JSON text has more members and items than `max`, over all levels. Those beyond the first thousand of one object or list count twice. The
 * answer for a text that is not JSON does not matter.
 */
export function hasMoreValues(text: string, max: number): boolean {
  // Each takes a character and a comma, and counts for two at most.
  if (text.length <= max) return false;
  const outer: number[] = [];
  let here = 0;
  let values = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    // Without a comma, one value is nested in another: depth is bounded elsewhere.
    else if (code === COMMA) {
      here += 1;
      values += here < MANY_MEMBERS ? 1 : 2;
      if (values > max) return true;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      outer.push(here);
      here = 0;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) here = outer.pop() ?? 0;
  }
  return false;
}

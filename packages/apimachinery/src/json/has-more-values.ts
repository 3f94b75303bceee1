// Tells how much there is in a JSON text before anything is made of it.

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

/** Whether a JSON text has more members and items than `max`, those of all levels together. Of other texts, any answer will do. */
export function hasMoreValues(text: string, max: number): boolean {
  // Each takes a character and a comma.
  if (text.length <= 2 * max) return false;
  let commas = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    // Where no comma stands, one value is alone in another: depth is bounded elsewhere.
    else if (code === COMMA && ++commas > max) return true;
  }
  return false;
}

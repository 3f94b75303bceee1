// Finds the end of a JSON value in a text. What has no closing bracket ends with the text: nothing fits behind it then.

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Behind the value that begins here. */
export function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  return first === OPEN_BRACE || first === OPEN_BRACKET ? endOfContainer(text, start) : endOfScalar(text, start);
}

function endOfContainer(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else {
      at++;
      if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
      else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return at;
    }
  }
  return text.length;
}

export function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let unescaped = quote;
    while (text.charCodeAt(unescaped - 1) === BACKSLASH) unescaped--;
    // Two backslashes are one character; an even number of them does not escape the quote.
    if ((quote - unescaped) % 2 === 0) return quote + 1;
  }
  return text.length;
}

function endOfScalar(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET) return at;
  }
  return text.length;
}

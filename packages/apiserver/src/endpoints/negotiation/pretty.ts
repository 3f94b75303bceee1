// Indents JSON text without parsing it.

const INDENT = "  ";
/** Deeper levels are indented like this one. Otherwise an object of 60 kB becomes a text of 60 MB, by a long array below a thousand others. */
const MAX_LEVEL = 64;
const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Compact or loose JSON text, two spaces per level up to MAX_LEVEL, numbers untouched. `depth` is the level that the text stands at:
 * its first line is not indented, the others are indented by at least that much.
 */
export function indentJson(text: string, depth = 0): string {
  const newLines = [`\n${INDENT.repeat(depth)}`];
  const lineAt = (level: number): string => (newLines[level] ??= `${lineAt(level - 1)}${INDENT}`);
  const newLine = (level: number): string => lineAt(Math.min(level, MAX_LEVEL));
  let out = "";
  let level = 0;
  /** Where what has not been written yet begins. */
  let from = 0;
  let wasOpened = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= 0x20) {
      out += text.slice(from, at);
      from = at + 1;
      continue;
    }
    if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      level--;
      out += wasOpened ? text.slice(from, at) : text.slice(from, at) + newLine(level);
      from = at;
      wasOpened = false;
      continue;
    }
    if (wasOpened) {
      out += text.slice(from, at) + newLine(level);
      from = at;
      wasOpened = false;
    }
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA || code === COLON) {
      out += text.slice(from, at + 1) + (code === COLON ? " " : newLine(level));
      from = at + 1;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      level++;
      wasOpened = true;
    }
  }
  return out + text.slice(from);
}

/** Where the string that begins at `at` has its closing quote. */
function endOfString(text: string, at: number): number {
  let end = at + 1;
  for (let code = text.charCodeAt(end); code !== QUOTE && end < text.length; code = text.charCodeAt(end)) {
    end += code === BACKSLASH ? 2 : 1;
  }
  return end;
}

// Trims the end of a text in linear time. `/x+$/` is quadratic.

/** The text without the characters at its end that are among `characters`. */
export function trimTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** The text before the first `mark`; the whole text without one. */
export function textBefore(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at === -1 ? text : text.slice(0, at);
}

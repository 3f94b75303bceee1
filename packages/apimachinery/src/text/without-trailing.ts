// Cuts the end of a text in linear time. `/x+$/` tries every x of the text as a start, which is quadratic.

/** The text without the characters at its end that are among `characters`. */
export function withoutTrailing(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** What stands before the first `mark`; the whole text where there is none. */
export function textBefore(text: string, mark: string): string {
  const at = text.indexOf(mark);
  return at === -1 ? text : text.slice(0, at);
}

// Quotes a word for a command line that users copy.

/** As a POSIX shell parses it. */
export const shellQuote = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

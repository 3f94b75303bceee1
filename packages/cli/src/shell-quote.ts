// Writes a word into a command line that people paste.

/** As a POSIX shell reads it back. */
export const shellQuote = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

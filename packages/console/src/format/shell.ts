// Quoting for the shell.

/** Any text as one word. */
export const quoted = (text: string): string =>
  /^[\w@%+=:,./-]{1,1000}$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

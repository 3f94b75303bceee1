// Quotes text as Go's %q does, because error messages of Kubernetes print values that way.
// Source: https://pkg.go.dev/strconv#Quote

const SHORT_ESCAPES: { readonly [code: number]: string } = {
  7: "\\a",
  8: "\\b",
  9: "\\t",
  10: "\\n",
  11: "\\v",
  12: "\\f",
  13: "\\r",
  34: '\\"',
  92: "\\\\",
};

const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** The text in double quotes, with everything that is not printable escaped. */
export function quoteGo(text: string): string {
  let quoted = '"';
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    const short = SHORT_ESCAPES[code];
    if (short !== undefined) quoted += short;
    else if (PRINTABLE.test(char)) quoted += char;
    else if (code < 0x80) quoted += `\\x${code.toString(16).padStart(2, "0")}`;
    else if (code <= 0xffff) quoted += `\\u${code.toString(16).padStart(4, "0")}`;
    else quoted += `\\U${code.toString(16).padStart(8, "0")}`;
  }
  return `${quoted}"`;
}

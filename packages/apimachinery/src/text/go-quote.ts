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

/** Most texts need no escapes: to test that takes half the time of a search. */
const PLAIN = /^[ !#-[\]-~]*$/;
const ESCAPED = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|["\\]/gu;

/** The text in double quotes, with everything that is not printable escaped. */
export const quoteGo = (text: string): string =>
  PLAIN.test(text) ? `"${text}"` : `"${text.replaceAll(ESCAPED, escapeOf)}"`;

function escapeOf(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const short = SHORT_ESCAPES[code];
  if (short !== undefined) return short;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code <= 0xffff) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}

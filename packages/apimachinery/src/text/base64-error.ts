// Finds where a text is not base64, as Go's decoder reports it: line breaks are ignored, and padding ends the text.
// Source: encoding/base64 (decodeQuantum)

/** All of it at once: a certificate or a Secret has megabytes. */
const WHOLE = /^[A-Za-z0-9+/]*$/;
const DIGIT = /[A-Za-z0-9+/]/;

/** Undefined for base64, else such as `illegal base64 data at input byte 3`. */
export function findBase64Error(text: string): string | undefined {
  const at = faultyByte(text);
  return at === undefined ? undefined : `illegal base64 data at input byte ${at}`;
}

/** A byte beyond ASCII is a fault itself, so that up to there characters are bytes. */
function faultyByte(text: string): number | undefined {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  if (text.length % 4 === 0 && WHOLE.test(padding === 0 ? text : text.slice(0, -padding))) return undefined;
  let at = 0;
  let digits = 0;
  for (; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === "\n" || char === "\r") continue;
    if (char === "=") return faultyPadding(text, at, digits);
    if (!DIGIT.test(char)) return at;
    digits = (digits + 1) % 4;
  }
  return digits === 0 ? undefined : at - digits;
}

function faultyPadding(text: string, at: number, digits: number): number | undefined {
  if (digits < 2) return at;
  let next = skipBreaks(text, at + 1);
  if (digits === 2) {
    if (next === text.length) return next;
    if (text.charAt(next) !== "=") return next - 1;
    next = skipBreaks(text, next + 1);
  }
  return next < text.length ? next : undefined;
}

function skipBreaks(text: string, from: number): number {
  let at = from;
  while (at < text.length && (text.charAt(at) === "\n" || text.charAt(at) === "\r")) at++;
  return at;
}

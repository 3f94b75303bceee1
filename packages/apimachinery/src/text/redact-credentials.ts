// Removes credentials from texts that quote client input, such as a key in the wrong field.

const REDACTED = "<redacted>";

/** An access key with any prefix; its end may have been cut off. The public handle stays. */
const ACCESS_KEY = /([a-z0-9]{3}_[a-z2-7]{10}_)([0-9A-Za-z]{8,})/g;
/** Text that may hold a JSON Web Token: `eyJ…`, `eyJ…` and a signature of eight characters at least. */
const DOTTED_WORDS = /[\w.-]{31,}/g;
const PRIVATE_KEY = /(-----BEGIN [A-Z ]*PRIVATE KEY-----)[^-]{8,}/g;
/** An access key again, where bytes are shown in hexadecimal. */
const KEY_IN_HEXADECIMAL = /((?:[0-9a-f]{2}){3}5f(?:3[2-7]|6[1-9a-f]|7[0-9a]){10}5f)(?:[0-9a-f]{2}){8,}/g;
const HANDLE = /_[a-z2-7]{10}_/;
const HANDLE_IN_HEXADECIMAL = /5f(?:3[2-7]|6[1-9a-f]|7[0-9a]){10}5f/;

/** Other texts, which are nearly all, cost a look each. */
const mayHoldCredential = (text: string): boolean =>
  (text.includes("_") && HANDLE.test(text)) ||
  text.includes("eyJ") ||
  text.includes("PRIVATE KEY") ||
  (text.includes("5f") && HANDLE_IN_HEXADECIMAL.test(text));

/** Replaces the secret parts of access keys, tokens and private keys, known by their format, with `<redacted>`. */
export function redactCredentials(text: string): string {
  if (!mayHoldCredential(text)) return text;
  return text
    .replaceAll(ACCESS_KEY, (whole, handle: string, secret: string) =>
      isOneWord(secret) ? whole : `${handle}${REDACTED}`,
    )
    .replaceAll(DOTTED_WORDS, withoutSignatures)
    .replaceAll(PRIVATE_KEY, `$1${REDACTED}`)
    .replaceAll(KEY_IN_HEXADECIMAL, `$1${REDACTED}`);
}

/** Whether anything of the text is one of those. */
export const holdsCredential = (text: string): boolean => redactCredentials(text) !== text;

const WEB_TOKEN_PREFIX = "eyJ";
const MIN_PART = 8;

/** Part by part, since an expression would begin anew at every `eyJ`. The last part of a token is its signature. */
function withoutSignatures(words: string): string {
  const parts = words.split(".");
  const isHeader = (part = ""): boolean => {
    const at = part.indexOf(WEB_TOKEN_PREFIX);
    return at !== -1 && part.length - at >= WEB_TOKEN_PREFIX.length + MIN_PART;
  };
  const isPayload = (part = ""): boolean => isHeader(part) && part.startsWith(WEB_TOKEN_PREFIX);
  for (let at = 2; at < parts.length; at++) {
    const signature = parts[at] ?? "";
    if (signature.length < MIN_PART || !isPayload(parts[at - 1]) || !isHeader(parts[at - 2])) continue;
    parts[at] = REDACTED;
  }
  return parts.join(".");
}

/** Names such as `app_production_frankfurt` have the same form; what chance made has more than one kind of character. */
const isOneWord = (text: string): boolean => /^([a-z]+|[A-Z]+|[0-9]+)$/.test(text);

// Removes credentials from texts that quote client input, such as a key in the wrong field, and from request URIs.

const REDACTED = "<redacted>";

/** Of an access key, whatever its prefix; the rest of it may have been cut off. Its public handle stays. */
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

/** Part by part: an expression would begin at every `eyJ` anew. Of a token, the last part is the one that counts. */
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

// Of the request URI, for logs, traces and audit events.

type Redact = (text: string) => string;

/** Parameters of the Kubernetes API, none of which carries a secret. The values of any others are left out. */
const KNOWN_PARAMETERS: ReadonlySet<string> = new Set([
  "allowWatchBookmarks",
  "as",
  "container",
  "continue",
  "dryRun",
  "exclude",
  "extended",
  "fieldManager",
  "fieldSelector",
  "fieldValidation",
  "follow",
  "force",
  "gracePeriodSeconds",
  "includeObject",
  "labelSelector",
  "limit",
  "orphanDependents",
  "pretty",
  "propagationPolicy",
  "resourceVersion",
  "resourceVersionMatch",
  "sendInitialEvents",
  "tailLines",
  "timeout",
  "timeoutSeconds",
  "verbose",
  "watch",
]);

const DECODINGS = 2;
const MAX_WHOLE = 1024;

/** Each part also as it reads once it is decoded. */
function redactedParts(text: string, redact: Redact): string {
  return redact(text)
    .split(/([/?&=;,])/)
    .map((part) => (part.includes("%") ? redactedEncoded(part, redact) : redact(part)))
    .join("");
}

function redactedEncoded(part: string, redact: Redact): string {
  let decoded = part;
  for (let at = 0; at < DECODINGS && decoded.includes("%"); at++) {
    decoded = decodeOctets(decoded);
    const safe = redact(decoded);
    if (safe !== decoded) return safe;
  }
  return part;
}

/** Takes what is malformed as it is: a text that no router reads still reaches the log. A selector may have a hundred thousand octets. */
function decodeOctets(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return decodeMalformed(text);
  }
}

function decodeMalformed(text: string): string {
  const [first = "", ...others] = text.split("%");
  const parts = [first];
  for (const other of others) {
    const octet = 16 * digitAt(other, 0) + digitAt(other, 1);
    parts.push(Number.isNaN(octet) ? `%${other}` : String.fromCharCode(octet) + other.slice(2));
  }
  return parts.join("");
}

/** NaN for what is no hexadecimal digit. */
function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : Number.NaN;
}

/**
 * The URI as sent, but for credentials, wherever they stand, and for the values of parameters whose content is not known, which become
 * `REDACTED`.
 */
export function safeRequestUri(uri: string, redact: Redact = redactCredentials): string {
  const at = uri.indexOf("?");
  // The usual case. A secret in a part of a text without encoding is found in the whole text as well, unless that is very long.
  const isSafe = uri.length < MAX_WHOLE && !uri.includes("%") && redact(uri) === uri;
  if (at < 0) return isSafe ? uri : redactedParts(uri, redact);
  const parameters = uri.slice(at + 1).split("&");
  if (isSafe && parameters.every((parameter) => safeParameter(parameter) === parameter)) return uri;
  return redactedParts(`${uri.slice(0, at)}?${parameters.map(safeParameter).join("&")}`, redact);
}

function safeParameter(parameter: string): string {
  const at = parameter.indexOf("=");
  if (at < 0) return KNOWN_PARAMETERS.has(parameter) || parameter === "" ? parameter : "REDACTED";
  const name = parameter.slice(0, at);
  return KNOWN_PARAMETERS.has(name) ? parameter : `${name}=REDACTED`;
}

// The request URI for logs, traces and audit events.

import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";

type Redact = (text: string) => string;

/** Parameters of the Kubernetes API, none of which carries a secret. The values of any others are left out. */
const KNOWN: ReadonlySet<string> = new Set([
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

/** What is no octet of ASCII. */
const OTHER_THAN_ASCII = /%(?![0-7][0-9a-f])/i;

/** Takes what is malformed as it is: a text that no router reads still reaches the log. A selector may have ten thousand octets. */
function decodeOctets(text: string): string {
  if (!OTHER_THAN_ASCII.test(text)) return decodeURIComponent(text);
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
  // The usual case. What is in a part of a text that has no encoding in it is found in the whole as well, unless that is very long.
  const isSafe = uri.length < MAX_WHOLE && !uri.includes("%") && redact(uri) === uri;
  if (at < 0) return isSafe ? uri : redactedParts(uri, redact);
  const parameters = uri.slice(at + 1).split("&");
  if (isSafe && parameters.every((parameter) => safeParameter(parameter) === parameter)) return uri;
  return redactedParts(`${uri.slice(0, at)}?${parameters.map(safeParameter).join("&")}`, redact);
}

function safeParameter(parameter: string): string {
  const at = parameter.indexOf("=");
  if (at < 0) return KNOWN.has(parameter) || parameter === "" ? parameter : "REDACTED";
  const name = parameter.slice(0, at);
  return KNOWN.has(name) ? parameter : `${name}=REDACTED`;
}

// Redacts credentials in a request URI before logs, traces and audit events show it.

import { redactCredentials } from "./redact-credentials.ts";

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

/** Leaves malformed escapes as they are: a text that no router reads still reaches the log. A selector may have a hundred thousand octets. */
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

/** NaN for a character that is no hexadecimal digit. */
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

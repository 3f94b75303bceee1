// Reads a server address that a client wants in its kubeconfig. The address is only written into the file, never dialled.

import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";

const MAX_LENGTH = 2048;
/** Scheme, authority and path. No user info, query, fragment, space or backslash: a kubeconfig has no use for them. */
const SERVER =
  /^(?:([A-Za-z][A-Za-z0-9+.-]*):\/\/)?((?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@\\:[\]]+)(?::(\d{1,5}))?)(\/[^\s?#\\]*)?$/;

const RULE =
  "must be a host, host:port or URL such as https://vcluster.example.com:8443, without user, query and fragment";

/**
 * The address in its normal form: `https` where no scheme is given, scheme and host in lower case, no slash at the end.
 * Undefined for what `validateServer` refuses.
 */
export function normalizeServer(server: string): string | undefined {
  const match = server.length > MAX_LENGTH ? null : SERVER.exec(server);
  if (match === null) return undefined;
  const [, scheme = "https", authority = "", port, path = ""] = match;
  const protocol = scheme.toLowerCase();
  if (protocol !== "https" && protocol !== "http") return undefined;
  const url = parseUrl(`${protocol}://${authority}${path}`);
  if (url === undefined || url.hostname === "") return undefined;
  // The URL parser drops a port that is the scheme's default; the file keeps what was asked for.
  return `${protocol}://${url.hostname}${port === undefined ? "" : `:${Number(port)}`}${trimTrailing(url.pathname, "/")}`;
}

/** The faults of `spec.server`; none when it can be normalised. */
export function validateServer(server: string): readonly FieldError[] {
  if (normalizeServer(server) !== undefined) return [];
  // Text before an @ may be a password.
  return [invalidError("spec.server", server.includes("@") ? "<hidden>" : server, RULE)];
}

/** Undefined for a text that is no URL. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

// Browser requests: cookies, origins, and safe return paths.
// Source: RFC 6265bis (cookie prefixes), Fetch Metadata, RFC 9700 section 4.11 (open redirection)

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { type ApiRequest, headerOf } from "@postern/apiserver/transport/api-request";

export type CookieOptions = {
  readonly sameSite: "Strict" | "Lax";
  /** Seconds; absent: until the browser is closed. 0 deletes it. */
  readonly maxAge?: number;
};

/** The prefix restricts a cookie to this host, all its paths, and TLS: no other host can set it. */
export const setCookie = (name: string, value: string, { sameSite, maxAge }: CookieOptions): string =>
  [
    `__Host-${name}=${value}`,
    "Path=/",
    "Secure",
    "HttpOnly",
    `SameSite=${sameSite}`,
    ...(maxAge === undefined ? [] : [`Max-Age=${maxAge}`]),
  ].join("; ");

/** Undefined if there is none, or more than one. */
export function cookieOf(request: Pick<ApiRequest, "headers">, name: string): string | undefined {
  const header = request.headers["cookie"];
  const text = typeof header === "string" ? header : (header ?? []).join("; ");
  const prefix = `__Host-${name}=`;
  const found = text.split(";").flatMap((pair) => {
    const trimmed = pair.trim();
    return trimmed.startsWith(prefix) ? [trimmed.slice(prefix.length)] : [];
  });
  return found.length === 1 ? found[0] : undefined;
}

/** Whether an origin is this server, by its public URL or by the Host of the request, which no page can choose. */
export function isOwnOrigin(origin: string, { host }: Pick<ApiRequest, "host">, ownUrl: string): boolean {
  const used = `https://${host}`;
  return [ownUrl, ...(URL.canParse(used) ? [used] : [])].some((url) => new URL(url).origin === origin);
}

/** Whether a page of this server sent the request. Without Sec-Fetch-Site and Origin it is refused. */
export function isSameOrigin(request: ApiRequest, ownUrl: string): boolean {
  const site = headerOf(request, "sec-fetch-site");
  const origin = headerOf(request, "origin");
  if (site !== "" && site !== "same-origin") return false;
  if (origin !== "" && !isOwnOrigin(origin, request, ownUrl)) return false;
  return site !== "" || origin !== "";
}

/** Throws 403 for a form that another page sent. */
export function checkSameOrigin(request: ApiRequest, ownUrl: string): void {
  if (isSameOrigin(request, ownUrl)) return;
  throw new ApiError({
    code: 403,
    reason: "Forbidden",
    message: "the request was not sent by a page of this server",
  });
}

/** A return path on this server: never another host, however it is written. */
export function safeReturnPath(text: string | null, otherwise: string): string {
  if (text === null || text.length > 512 || !RETURN_PATH.test(text)) return otherwise;
  // Parsed as browsers do: what looks like a path can contain a host.
  const { origin, pathname, search } = new URL(text, "https://host.invalid");
  return origin === "https://host.invalid" && !pathname.startsWith("//") ? `${pathname}${search}` : otherwise;
}

const RETURN_PATH = /^\/(?:[A-Za-z0-9._~-][A-Za-z0-9._~/%-]*)?(?:\?[A-Za-z0-9._~=&%-]*)?$/;

/** Redirect URIs of the command line: a loopback address, not a name (RFC 8252 section 7.3). */
export function isLoopbackRedirect(text: string): boolean {
  const found = LOOPBACK.exec(text);
  const port = Number(found?.[1] ?? 0);
  return port > 0 && port < 65_536;
}

const LOOPBACK = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):([0-9]{1,5})\/callback$/;

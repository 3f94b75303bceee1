// Browser requests: cookies, origins, and safe return paths.
// Source: RFC 6265bis (cookie prefixes), Fetch Metadata, RFC 9700 section 4.11 (open redirection)

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { type ApiRequest, headerOf } from "@postern/apiserver/transport/api-request";

export type CookieOptions = {
  readonly sameSite: "Strict" | "Lax";
  /** Seconds; absent: until the browser closes. 0 takes it away. */
  readonly maxAge?: number;
};

/** The prefix holds a cookie to this host, all its paths, and TLS: no other host can put one there. */
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

/** Whether an origin is that of this server, under its own name or under the one that the browser used: no page chooses the Host. */
export function isOwnOrigin(origin: string, { host }: Pick<ApiRequest, "host">, ownUrl: string): boolean {
  const used = `https://${host}`;
  return [ownUrl, ...(URL.canParse(used) ? [used] : [])].some((url) => new URL(url).origin === origin);
}

/** Whether a page of this server made the browser send the request. A browser that says neither is refused. */
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

/** A path on this server to go back to: never another host, whatever way it is written. */
export function safeReturnPath(text: string | null, otherwise: string): string {
  if (text === null || text.length > 512 || !RETURN_PATH.test(text)) return otherwise;
  // Read as a browser would: what looks like a path can name a host.
  const { origin, pathname, search } = new URL(text, "https://host.invalid");
  return origin === "https://host.invalid" && !pathname.startsWith("//") ? `${pathname}${search}` : otherwise;
}

const RETURN_PATH = /^\/(?:[A-Za-z0-9._~-][A-Za-z0-9._~/%-]*)?(?:\?[A-Za-z0-9._~=&%-]*)?$/;

/** Where a command line waits for the browser: an address of the machine itself, by number, as RFC 8252 section 7.3 has it. */
export function isLoopbackRedirect(text: string): boolean {
  const found = LOOPBACK.exec(text);
  const port = Number(found?.[1] ?? 0);
  return port > 0 && port < 65_536;
}

const LOOPBACK = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):([0-9]{1,5})\/callback$/;

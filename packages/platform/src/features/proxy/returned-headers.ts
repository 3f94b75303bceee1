// The response headers of a target that a caller receives.

import type { IncomingHttpHeaders } from "node:http";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { ResponseHeaders } from "@postern/apiserver/transport/api-response";
import { badGatewayError } from "../../foundation/upstream/upstream-failure.ts";
import { namedInConnection } from "./forwarded-headers.ts";

/**
 * All others speak for the platform's origin (cookies, policies, reports, trials, rules for speculative requests), or about the target's own way of
 * being reached, and browsers learn new ones every year. These are what clients of Kubernetes, and browsers that show an answer, read.
 */
const RETURNED: ReadonlySet<string> = new Set([
  "accept-patch",
  "accept-ranges",
  "age",
  "allow",
  "audit-id",
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-range",
  "content-type",
  "etag",
  "expires",
  "last-modified",
  "pragma",
  "retry-after",
  "vary",
  "warning",
  "x-kubernetes-pf-flowschema-uid",
  "x-kubernetes-pf-prioritylevel-uid",
]);

/**
 * Content that comes through here was made by tenants and is served from the platform's origin, where a page of theirs must not run: a
 * browser shows it without an origin of its own.
 */
const HARMLESS_IN_BROWSERS: ResponseHeaders = {
  "content-security-policy": "sandbox",
  "x-content-type-options": "nosniff",
};

/** All but the length, which is that of what was sent. The place of a redirect is given where it is still below the target. */
export function returnedHeaders(headers: IncomingHttpHeaders, location: string | undefined): ResponseHeaders {
  const named = namedInConnection(headers.connection);
  const returned: { [name: string]: string | readonly string[] } = { ...HARMLESS_IN_BROWSERS };
  for (const name in headers) {
    const value = headers[name];
    // Also left out of a refused upgrade: the headers of a handshake belong to a 101.
    if (value !== undefined && RETURNED.has(name) && !named.has(name)) returned[name] = value;
  }
  if (location !== undefined) returned["location"] = location;
  return returned;
}

/** For a response that is relayed as it comes, or whose body was not sent. */
export function withReturnedLength(returned: ResponseHeaders, headers: IncomingHttpHeaders): ResponseHeaders {
  const length = headers["content-length"];
  if (length === undefined || namedInConnection(headers.connection).has("content-length")) return returned;
  return { ...returned, "content-length": length };
}

export type RedirectOptions = {
  /** Base URL of the target. */
  readonly server: string;
  /** The path that was asked for there, without the query. */
  readonly path: string;
  /** Where the target stands at the platform: what was taken off the path on the way here. */
  readonly basePath: string;
};

/**
 * The Location of a redirect as callers must see it, or undefined where there is none. Redirects are never followed here, and not
 * passed on when they lead to another host: some clients would take their credential there. Throws ApiError 502 for those.
 */
export function returnedLocation(headers: IncomingHttpHeaders, options: RedirectOptions): string | undefined {
  const { location } = headers;
  if (location === undefined) return undefined;
  const base = new URL(options.server);
  const root = trimTrailing(base.pathname, "/");
  const url = parseUrl(location, new URL(root + options.path, base));
  const isBelow = url?.origin === base.origin && (url.pathname === root || url.pathname.startsWith(`${root}/`));
  if (url === undefined || !isBelow) {
    throw badGatewayError({ reason: "RedirectRefused", message: "it redirects to another address" });
  }
  // A path that begins with two slashes would name another host.
  const rest = `/${url.pathname.slice(root.length).replace(/^\/+/, "")}`;
  return `${options.basePath}${rest}${url.search}${url.hash}`;
}

function parseUrl(text: string, base: URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** Headers of a 101 beside the protocol that it switches to. */
const HANDSHAKE_HEADERS = [
  "sec-websocket-accept",
  "sec-websocket-extensions",
  "sec-websocket-protocol",
  "x-stream-protocol-version",
] as const;

/** The head of the 101 that a caller gets. Node has parsed the values: none holds the end of a line. */
export function switchingProtocols(headers: IncomingHttpHeaders): string {
  const lines = HANDSHAKE_HEADERS.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [`${name}: ${typeof value === "string" ? value : value.join(", ")}`];
  });
  return [
    "HTTP/1.1 101 Switching Protocols",
    "connection: Upgrade",
    `upgrade: ${headers.upgrade}`,
    ...lines,
    "",
    "",
  ].join("\r\n");
}

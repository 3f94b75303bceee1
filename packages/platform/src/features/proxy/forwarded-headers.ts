// The headers for a target: those of the request that are allowed, and the identity of the caller.

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { webSocketProtocols } from "@postern/apiserver/request/credentials";
import { type ApiRequest, headerOf, type RequestHeaders } from "@postern/apiserver/transport/api-request";
import { badGatewayError } from "../../foundation/upstream/upstream-failure.ts";
import type { UpstreamCredential } from "../../foundation/upstream/upstream-target.ts";
import { impersonationHeaders } from "./impersonation-headers.ts";

export type HeaderValues = { [name: string]: string | string[] };

/** They speak about one connection. RFC 9110, section 7.6.1. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Credentials of the caller's, and what we write ourselves. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  "audit-id",
  "authorization",
  "client-cert",
  "client-cert-chain",
  "content-length",
  "cookie",
  "cookie2",
  "expect",
  "forwarded",
  "host",
  "origin",
  "referer",
  "sec-websocket-protocol",
  "true-client-ip",
  "via",
  "x-api-key",
  "x-real-ip",
]);

/** Every proxy on the way adds itself to Via; a target that leads back to its own proxy would fill it without end. */
const MAX_HOPS = 8;
const PSEUDONYM = "1.1 kubernetes-proxy";

/** Families by which some server takes an identity, an address or another request line from a header. */
const NOT_FORWARDED_PREFIXES: readonly string[] = [
  "impersonate",
  "x-client-",
  "x-forwarded",
  "x-http-method",
  "x-original-",
  "x-remote-",
  "x-rewrite-",
  "x-ssl-",
];

/**
 * Everything else is a name that some programs read as another: with underscores for dashes, or percent-encoded. Such headers are
 * dropped, as nginx does.
 */
const PLAIN_NAME = /^[a-z0-9-]+$/;

export const isHopByHop = (name: string): boolean => HOP_BY_HOP.has(name);

/** The names that a Connection header adds to the hop-by-hop ones, in lower case. */
export function namedInConnection(value: string | readonly string[] | undefined): ReadonlySet<string> {
  const text = value === undefined ? "" : typeof value === "string" ? value : value.join(",");
  return new Set(text.split(",").map((name) => name.trim().toLowerCase()));
}

/**
 * Complete but for Host, body and upgrade headers. Throws ApiError for a caller whom no header can name.
 *
 * The order matters: a caller's Connection header names what is removed from its own headers, before ours are there.
 */
export function forwardedHeaders(
  { headers }: Pick<ApiRequest, "headers">,
  user: UserInfo,
  { bearerToken }: UpstreamCredential,
  auditId: string,
): HeaderValues {
  return {
    ...callersHeaders(headers),
    ...impersonationHeaders(user),
    ...(bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` }),
    ...(auditId === "" ? {} : { "audit-id": auditId }),
    via: viaHeader(headers["via"]),
  };
}

function viaHeader(given: string | readonly string[] | undefined): string {
  const hops = [given ?? []]
    .flat()
    .join(",")
    .split(",")
    .filter((hop) => hop.trim() === PSEUDONYM);
  if (hops.length >= MAX_HOPS) throw badGatewayError({ reason: "ProxyLoop", message: "it leads back to this proxy" });
  return [...hops, PSEUDONYM].join(",");
}

function callersHeaders(headers: RequestHeaders): HeaderValues {
  const named = namedInConnection(headers["connection"]);
  const forwarded: HeaderValues = Object.create(null);
  for (const given in headers) {
    const name = given.toLowerCase();
    const value = headers[given];
    if (value === undefined || !PLAIN_NAME.test(name) || isHopByHop(name) || named.has(name)) continue;
    if (NOT_FORWARDED.has(name) || NOT_FORWARDED_PREFIXES.some((prefix) => name.startsWith(prefix))) continue;
    forwarded[name] = typeof value === "string" ? value : [...value];
  }
  return forwarded;
}

const STREAM_PROTOCOLS = "x-stream-protocol-version";

/** The headers beside the protocol that a request asks to leave HTTP for. The subprotocol that carries a token stays with us. */
export function upgradeHeaders(request: Pick<ApiRequest, "headers">): HeaderValues {
  const subprotocols = webSocketProtocols(request);
  const streamProtocols = headerOf(request, STREAM_PROTOCOLS)
    .split(",")
    .map((version) => version.trim())
    .filter((version) => version !== "");
  return {
    ...(subprotocols.length === 0 ? {} : { "sec-websocket-protocol": subprotocols.join(", ") }),
    // One line each: servers before Kubernetes 1.27 do not look for commas, by which Node has joined them.
    ...(streamProtocols.length === 0 ? {} : { [STREAM_PROTOCOLS]: streamProtocols }),
  };
}

/** The length of the body, where it was declared: it goes on in chunks otherwise. Throws ApiError 400 for one that is no number. */
export function bodyHeaders({ headers }: Pick<ApiRequest, "headers">): HeaderValues {
  const length = headers["content-length"];
  if (length === undefined || headers["transfer-encoding"] !== undefined) return {};
  if (typeof length !== "string" || !/^\d+$/.test(length)) throw badRequestError("the Content-Length is not a number");
  return { "content-length": length };
}

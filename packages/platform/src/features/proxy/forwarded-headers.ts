// The headers for a target: those of the request that are allowed, and the identity of the caller.

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { webSocketProtocols } from "@postern/apiserver/request/credentials";
import { type ApiRequest, headerOf } from "@postern/apiserver/transport/api-request";
import { type HeaderList, withoutHeaders } from "../../foundation/upstream/header-list.ts";
import { badGatewayError } from "../../foundation/upstream/upstream-failure.ts";
import type { UpstreamCredential } from "../../foundation/upstream/upstream-target.ts";
import { impersonationHeaders } from "./impersonation-headers.ts";

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
  "dpop",
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

const NO_NAMES: ReadonlySet<string> = new Set();

/** The names that a Connection header adds to the hop-by-hop ones, in lower case. */
export function namedInConnection(value: string | readonly string[] | undefined): ReadonlySet<string> {
  if (value === undefined) return NO_NAMES;
  const text = typeof value === "string" ? value : value.join(",");
  return new Set(text.split(",").map((name) => name.trim().toLowerCase()));
}

/** Complete but for Host, body and upgrade headers. Throws ApiError for a caller whom no header can name. */
export type ForwardedHeaders = (request: Pick<ApiRequest, "headers">, user: UserInfo, auditId: string) => HeaderList;

/** Names of headers about which is known whether they are passed on. Clients choose them. */
const MAX_KNOWN_NAMES = 256;

/** Remembers what it has made of a caller, whose object is the same with each of its requests. */
export function createForwardedHeaders({ bearerToken }: UpstreamCredential): ForwardedHeaders {
  const known = new WeakMap<UserInfo, HeaderList>();
  const authorization = bearerToken === undefined ? [] : ["authorization", `Bearer ${bearerToken}`];
  const identityOf = (user: UserInfo): HeaderList => {
    const found = known.get(user);
    if (found !== undefined) return found;
    const made = [...impersonationHeaders(user), ...authorization];
    known.set(user, made);
    return made;
  };
  const names = new Map<string, boolean>();
  const isForwarded = (name: string): boolean => {
    const found = names.get(name);
    if (found !== undefined) return found;
    const may = mayBeForwarded(name);
    if (names.size < MAX_KNOWN_NAMES) names.set(name, may);
    return may;
  };
  return ({ headers }, user, auditId) => {
    // A caller's Connection header names what is removed from its own headers alone. None of them has a name of ours.
    const named = namedInConnection(headers["connection"]);
    const list: string[] = [];
    for (const name in headers) {
      const value = headers[name];
      if (value === undefined || !isForwarded(name) || named.has(name)) continue;
      if (typeof value === "string") list.push(name, value);
      else for (const each of value) list.push(name, each);
    }
    list.push(...identityOf(user), "via", viaHeader(headers["via"]));
    if (auditId !== "") list.push("audit-id", auditId);
    return list;
  };
}

/** Names are in lower case. */
const mayBeForwarded = (name: string): boolean =>
  PLAIN_NAME.test(name) &&
  !isHopByHop(name) &&
  !NOT_FORWARDED.has(name) &&
  !NOT_FORWARDED_PREFIXES.some((prefix) => name.startsWith(prefix));

/** Each proxy of a platform that a request has come through. */
const hopsIn = (given: string | readonly string[]): readonly string[] =>
  [given]
    .flat()
    .join(",")
    .split(",")
    .filter((hop) => hop.trim() === PSEUDONYM);

/** Whether a request has come through the proxy of a platform, this one or another. */
export const cameThroughProxy = ({ headers: { via } }: Pick<ApiRequest, "headers">): boolean =>
  via !== undefined && hopsIn(via).length > 0;

function viaHeader(given: string | readonly string[] | undefined): string {
  if (given === undefined) return PSEUDONYM;
  const hops = hopsIn(given);
  if (hops.length >= MAX_HOPS) throw badGatewayError({ reason: "ProxyLoop", message: "it leads back to this proxy" });
  return [...hops, PSEUDONYM].join(",");
}

const STREAM_PROTOCOLS = "x-stream-protocol-version";

/** The headers of a request that asks to leave HTTP, beside the protocol that it asks for. The subprotocol that carries a token stays with us. */
export function withUpgradeHeaders(forwarded: HeaderList, request: Pick<ApiRequest, "headers">): HeaderList {
  const subprotocols = webSocketProtocols(request);
  const streamProtocols = headerOf(request, STREAM_PROTOCOLS)
    .split(",")
    .map((version) => version.trim())
    .filter((version) => version !== "");
  return [
    ...withoutHeaders(forwarded, [STREAM_PROTOCOLS]),
    ...(subprotocols.length === 0 ? [] : ["sec-websocket-protocol", subprotocols.join(", ")]),
    // One line each: servers before Kubernetes 1.27 do not look for commas, by which Node has joined them.
    ...streamProtocols.flatMap((version) => [STREAM_PROTOCOLS, version]),
  ];
}

/** The length of the body, where it was declared: it goes on in chunks otherwise. Throws ApiError 400 for one that is no number. */
export function bodyHeaders({ headers }: Pick<ApiRequest, "headers">): HeaderList {
  const length = headers["content-length"];
  if (length === undefined || headers["transfer-encoding"] !== undefined) return [];
  if (typeof length !== "string" || !/^\d+$/.test(length)) throw badRequestError("the Content-Length is not a number");
  return ["content-length", length];
}

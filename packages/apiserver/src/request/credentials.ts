// The credential of a request: its bearer token, in the Authorization header or, for browsers, among the WebSocket subprotocols.
// Source: k8s.io/apiserver/pkg/authentication/request/{bearertoken/bearertoken.go,websocket/protocol.go}

import { badRequestError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { type ApiRequest, headerOf } from "../transport/api-request.ts";

export type BearerToken =
  | { readonly type: "none" }
  | { readonly type: "token"; readonly token: string }
  /** More than one space before the token: a warning, and the request is anonymous. */
  | { readonly type: "extra-space" }
  /** Meant as a token, but not one: to be answered 401. */
  | { readonly type: "invalid" }
  /** A token in both places: to be answered 400. */
  | { readonly type: "ambiguous" };

const NONE: BearerToken = { type: "none" };
const INVALID: BearerToken = { type: "invalid" };
const SCHEME = /^bearer$/i;
/** The form that nearly every client sends. */
const USUAL = /^bearer (\S+)$/i;
const PROTOCOL_HEADER = "sec-websocket-protocol";
const PROTOCOL_PREFIX = "base64url.bearer.authorization.k8s.io.";
const BASE64URL = /^[\w-]+$/;

export const EXTRA_SPACE_WARNING =
  "the provided Authorization header contains extra space before the bearer token, and is ignored";

/** The last result: several stages ask about one request. */
let last: { readonly authorization: string; readonly bearer: BearerToken } = { authorization: "", bearer: NONE };

export function bearerTokenOf(request: Pick<ApiRequest, "headers" | "upgrade">): BearerToken {
  const { authorization } = request.headers;
  if (typeof authorization !== "string" || request.upgrade !== undefined) return readBearerToken(request);
  if (last.authorization !== authorization) last = { authorization, bearer: readBearerToken(request) };
  return last.bearer;
}

function readBearerToken(request: Pick<ApiRequest, "headers" | "upgrade">): BearerToken {
  const { authorization } = request.headers;
  const protocols = bearerProtocols(request);
  if (protocols.length > 0)
    return authorization === undefined ? fromProtocols(request, protocols) : { type: "ambiguous" };
  if (authorization === undefined) return NONE;
  // Two headers: which of them counts is not for us to guess.
  if (typeof authorization !== "string") return INVALID;
  const token = USUAL.exec(authorization)?.[1];
  return token === undefined ? fromAuthorization(authorization.trim()) : { type: "token", token };
}

/** The token; undefined without one. Throws ApiError 401 or 400 for a malformed or duplicate one. */
export function presentedToken(request: Pick<ApiRequest, "headers" | "upgrade">): string | undefined {
  const bearer = bearerTokenOf(request);
  if (bearer.type === "invalid") throw unauthorizedError();
  if (bearer.type === "ambiguous") {
    throw badRequestError("a bearer token may be given in the Authorization header or as a subprotocol, not in both");
  }
  return bearer.type === "token" ? bearer.token : undefined;
}

/** The form of an access token that comes with a proof (RFC 9449, section 7.1). */
const WITH_PROOF = /^dpop +(\S.*)$/i;

/** The token of the scheme DPoP: for authenticators that verify the proof beside it. Undefined for all other requests. */
export function tokenWithProof({ headers }: Pick<ApiRequest, "headers">): string | undefined {
  const { authorization } = headers;
  return typeof authorization === "string" ? WITH_PROOF.exec(authorization)?.[1] : undefined;
}

/** The subprotocols that the client asks for, without those that carry a token. */
export const webSocketProtocols = (request: Pick<ApiRequest, "headers">): readonly string[] =>
  requestedProtocols(request).filter((protocol) => !protocol.startsWith(PROTOCOL_PREFIX));

function fromAuthorization(authorization: string): BearerToken {
  const [scheme = "", token = "", rest] = authorization.split(" ", 3);
  if (!SCHEME.test(scheme)) return NONE;
  if (token !== "") return { type: "token", token };
  return rest === undefined ? NONE : { type: "extra-space" };
}

function fromProtocols(
  request: Pick<ApiRequest, "headers">,
  [protocol = "", ...others]: readonly string[],
): BearerToken {
  // The answer must name a protocol, and that must not be the one with the token in it.
  if (others.length > 0 || webSocketProtocols(request).length === 0) return INVALID;
  const encoded = protocol.slice(PROTOCOL_PREFIX.length);
  if (!BASE64URL.test(encoded)) return INVALID;
  const token = Buffer.from(encoded, "base64url").toString();
  return token.includes("\ufffd") ? INVALID : { type: "token", token };
}

function bearerProtocols(request: Pick<ApiRequest, "headers" | "upgrade">): readonly string[] {
  if (request.upgrade === undefined || !/websocket/i.test(request.upgrade.protocol)) return [];
  return requestedProtocols(request).filter((protocol) => protocol.startsWith(PROTOCOL_PREFIX));
}

const requestedProtocols = (request: Pick<ApiRequest, "headers">): readonly string[] =>
  headerOf(request, PROTOCOL_HEADER)
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "");

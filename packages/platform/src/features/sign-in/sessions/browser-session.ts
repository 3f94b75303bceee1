// Browser sessions on the APIs: the session cookie is used as an access key if the request comes from a page of this server. See docs/adr/0080.
// Source: Fetch Metadata Request Headers (W3C), RFC 6265bis

import { type ApiError, forbiddenPathError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { HandlerChain } from "@postern/apiserver/chain/handler-chain";
import { bearerTokenOf } from "@postern/apiserver/request/credentials";
import type { ResolvedRequest } from "@postern/apiserver/request/request-info";
import { whenDone } from "@postern/apiserver/runtime/awaitable";
import { type ApiRequest, headerOf } from "@postern/apiserver/transport/api-request";
import { type ResponseHeaders, withHeaders } from "@postern/apiserver/transport/api-response";
import type { ApiHandler } from "@postern/apiserver/transport/exchange/serve-exchange";
import { SESSION_TYPE } from "../../access-keys/access-key-state.ts";
import type { AccessKeyIndex } from "../../access-keys/index/access-key-index.ts";
import { isSameText } from "../pages/sign-in-forms.ts";
import { SESSION_COOKIE } from "../sign-in-paths.ts";
import { cookieOf, isOwnOrigin } from "./cookies-and-origins.ts";
import { csrfTokenOf } from "./session-csrf.ts";

/** The header with the session's CSRF token. */
export const CSRF_HEADER = "x-postern-csrf";

export type BrowserSessionDeps = {
  readonly keys: Pick<AccessKeyIndex, "find" | "whenFound">;
  /** URL of this server for clients. */
  readonly publicUrl: () => string;
};

/** Requests of `fetch`, and pages that users open. A session loads no scripts, frames or images. */
const DESTINATIONS: readonly string[] = ["", "empty", "document", "websocket"];
/** Possible values of keys. */
const VALUE = /^[!-~]+$/;

/** Responses of the APIs are never rendered as pages, and never cached by the browser. */
const SHOWN_NOWHERE: ResponseHeaders = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** The chain, which also accepts session cookies. */
export const openedBySessions =
  (chain: HandlerChain, resolve: (request: ApiRequest) => ResolvedRequest, deps: BrowserSessionDeps): ApiHandler =>
  (request) => {
    if (request.headers["cookie"] === undefined) return chain(request, resolve(request));
    const value = sessionIn(request);
    // Nothing after this reads cookies.
    const { cookie: _, ...headers } = request.headers;
    const resolved = resolve(request);
    if (value === undefined) return chain(request.with({ headers }), resolved);
    const answerSession = () => {
      const refusal = sessionError(request, value, deps);
      const known = request.with({ headers: { ...headers, authorization: `Bearer ${value}` } });
      const answer = chain(known, refusal === undefined ? resolved : { ...resolved, refusal, isLongRunning: false });
      return whenDone(answer, (response) => withHeaders(response, SHOWN_NOWHERE));
    };
    const found = deps.keys.whenFound(value);
    return found === undefined ? answerSession() : found.then(answerSession);
  };

/** A bearer token takes precedence over the cookie. */
function sessionIn(request: ApiRequest): string | undefined {
  if (request.headers["authorization"] !== undefined || bearerTokenOf(request).type !== "none") return undefined;
  const value = cookieOf(request, SESSION_COOKIE);
  return value !== undefined && VALUE.test(value) ? value : undefined;
}

function sessionError(request: ApiRequest, value: string, { keys, publicUrl }: BrowserSessionDeps) {
  const fault = originError(request, value, publicUrl());
  if (fault !== undefined) return fault;
  // Unknown keys are refused, counted and delayed by authentication.
  return (keys.find(value)?.type ?? SESSION_TYPE) === SESSION_TYPE ? undefined : unauthorizedError();
}

/** ApiError 403 if a page of another origin may have sent the request; undefined otherwise. */
export function originError(request: ApiRequest, session: string, ownUrl: string): ApiError | undefined {
  const isRead = (request.method === "GET" || request.method === "HEAD") && request.upgrade === undefined;
  const site = headerOf(request, "sec-fetch-site");
  const isOwn = site === "" || site === "same-origin" || (isRead && site === "none");
  if (!isOwn) return refused(`the request was sent by another site (Sec-Fetch-Site: ${shown(site)})`);
  const origin = headerOf(request, "origin");
  if (origin !== "" && !isOwnOrigin(origin, request, ownUrl))
    return refused(`the request was sent by a page of another origin (Origin: ${shown(origin)})`);
  const destination = headerOf(request, "sec-fetch-dest");
  if (!DESTINATIONS.includes(destination))
    return refused(`the resource cannot be embedded in a page (Sec-Fetch-Dest: ${shown(destination)})`);
  if (isRead || isSameText(headerOf(request, CSRF_HEADER), csrfTokenOf(session))) return undefined;
  return refused("the header X-Postern-Csrf must have the csrfToken of GET /login/session");
}

const refused = (why: string): ApiError =>
  forbiddenPathError(`the session in the browser does not allow the request: ${why}`);

const shown = (text: string): string => text.slice(0, 128);

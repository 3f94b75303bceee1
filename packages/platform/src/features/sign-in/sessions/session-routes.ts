// /login/session: the session of a page with scripts, such as the console: starts one with an access key, returns it, ends it.
// Responses are JSON; errors are Statuses.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { ApiError, badRequestError, isApiError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { headerOf } from "@postern/apiserver/transport/api-request";
import { type ApiResponse, jsonResponse, type ResponseHeaders } from "@postern/apiserver/transport/api-response";
import { auditIssued, auditPresented, auditRefusal } from "../audit-sign-in.ts";
import { SignInRefusal } from "../providers/map-claims.ts";
import type { SignInRoutesDeps } from "../sign-in-deps.ts";
import { SESSION_COOKIE, START_PATH } from "../sign-in-paths.ts";
import { originError } from "./browser-session.ts";
import { checkSameOrigin, cookieOf, safeReturnPath, setCookie } from "./cookies-and-origins.ts";
import { endEarlier, type Session, sessionOf } from "./session.ts";
import { csrfTokenOf } from "./session-csrf.ts";

const MAX_BODY = 8 * 1024;
const CLEARED = setCookie(SESSION_COOKIE, "", { sameSite: "Strict", maxAge: 0 });

/** GET: the signed-in user, and the providers to sign in with. `return` is the path to which these return. */
export async function showSession({ request }: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const value = cookieOf(request, SESSION_COOKIE) ?? "";
  const fault = originError(request, value, deps.publicUrl());
  if (fault !== undefined) throw fault;
  const providers = providersFor(safeReturnPath(request.query.get("return"), "/"), deps);
  const session = await sessionOf(request, deps);
  if (session !== undefined) return answer(200, { ...describe(session, deps), providers });
  return answer(401, { providers }, value === "" ? {} : { "set-cookie": CLEARED });
}

/** POST: `{"key": "..."}` starts a session that becomes invalid with that access key. */
export async function openSession(context: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const { request } = context;
  const { service, clock } = deps;
  checkSameOrigin(request, deps.publicUrl());
  const [type = ""] = headerOf(request, "content-type").split(";");
  // Forms of other pages cannot send this type.
  if (type.trim().toLowerCase() !== "application/json")
    throw new ApiError({ code: 415, reason: "UnsupportedMediaType", message: "the body must be application/json" });
  const presented = keyIn(await request.body(MAX_BODY));
  try {
    const earlier = await sessionOf(request, deps);
    const { value, expiresAt } = await service.mintWithKey(presented, "Browser", request.remoteAddress);
    auditIssued(context, deps, value);
    await endEarlier(earlier?.keyName, context, deps);
    const session = await sessionOf(request, deps, value);
    if (session === undefined) throw unauthorizedError();
    const maxAge = Math.max(1, Math.floor((expiresAt - clock.now()) / 1000));
    const providers = providersFor("/", deps);
    return answer(
      200,
      { ...describe(session, deps), providers },
      { "set-cookie": setCookie(SESSION_COOKIE, value, { sameSite: "Strict", maxAge }) },
    );
  } catch (error) {
    if (!(error instanceof SignInRefusal)) throw error;
    auditPresented(context, deps, presented);
    auditRefusal(context, deps, error.message);
    if (error.isUnknown) throw unauthorizedError();
    throw new ApiError({ code: 403, reason: "Forbidden", message: `you are not signed in: ${error.message}` });
  }
}

/** Throws ApiError 400 for anything but an object with the member `key`. */
function keyIn(bytes: Uint8Array): string {
  let body: unknown;
  try {
    body = parseJson(bytes, { maxDepth: 2 });
  } catch (error) {
    if (!isApiError(error) && !(error instanceof Error)) throw error;
  }
  // The error must not quote the body, which may contain the key.
  if (!isJsonObject(body as JsonObject)) throw badRequestError('the body must be a JSON object such as {"key": "..."}');
  const { key, ...others } = body as JsonObject;
  if (Object.keys(others).length > 0) throw badRequestError("the body must have only the member key");
  if (typeof key !== "string" || key.trim() === "") throw badRequestError("key: must be the value of an access key");
  return key.trim();
}

/** DELETE: deletes the key of the session, and the credentials that depend on it. */
export async function closeSession({ request, audit }: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const value = cookieOf(request, SESSION_COOKIE) ?? "";
  if (value === "") throw unauthorizedError();
  const fault = originError(request, value, deps.publicUrl());
  if (fault !== undefined) throw fault;
  const session = await sessionOf(request, deps);
  if (session !== undefined) {
    audit.annotate(deps.names.key("sign-out"), session.keyName);
    await deps.service.endSession(session.keyName);
  }
  return { status: 204, headers: { "set-cookie": CLEARED, ...NO_STORE }, body: { type: "bytes", bytes: "" } };
}

function describe({ key, keyName, self }: Session, { keys }: SignInRoutesDeps): JsonObject {
  const { user, team, subject = "" } = self;
  const expiresAt = keys.find(key)?.expiresAt;
  return {
    user: isJsonObject(user) ? user : { name: subject, username: subject, subject },
    ...(isJsonObject(team) ? { team } : {}),
    csrfToken: csrfTokenOf(key),
    ...(expiresAt === undefined ? {} : { expiresAt: formatTimestamp(expiresAt) }),
    keyName,
  };
}

const providersFor = (next: string, { providers }: SignInRoutesDeps): readonly JsonObject[] =>
  providers
    .all()
    .filter(({ isOff }) => !isOff)
    .map(({ name, title }) => ({
      name,
      displayName: title,
      loginUrl: `${START_PATH}?${new URLSearchParams({ provider: name, return: next })}`,
    }));

const NO_STORE: ResponseHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

const answer = (status: number, body: JsonObject, headers: ResponseHeaders = {}): ApiResponse =>
  jsonResponse(status, JSON.stringify(body), { ...NO_STORE, ...headers });

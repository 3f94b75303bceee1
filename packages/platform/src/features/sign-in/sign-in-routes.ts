// All sign-in routes, in one table.

import { isApiError, methodNotAllowedError, resourceNotFoundError } from "@postern/apimachinery/meta/api-error";
import type { RateLimits } from "@postern/apiserver/chain/with-rate-limit";
import type { Handler, RequestContext } from "@postern/apiserver/context/request-context";
import { sourceOf } from "@postern/apiserver/limits/rate-limiter";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import { type ApiRequest, headerOf } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { Foundation } from "../../foundation/foundation.ts";
import { oauthAnswer } from "../../foundation/issuers/token-endpoint.ts";
import { confirmPage, confirmSignIn } from "./command-line/confirm-routes.ts";
import { authorizeDevice, devicePage, takeUserCode } from "./command-line/device-codes.ts";
import { authorize, describeServer, showClientKeys } from "./command-line/oauth-routes.ts";
import { showLink, signInWithLink } from "./link-routes.ts";
import { finishSignIn, openLogin, signInWithKey, startSignIn } from "./login-routes.ts";
import { errorPage, inTheme, redirectResponse } from "./pages/pages.ts";
import { type BackChannelLogoutDeps, logOutByBackChannel } from "./sessions/back-channel-logout.ts";
import { profilePage, signOut } from "./sessions/profile-routes.ts";
import { closeSession, openSession, showSession } from "./sessions/session-routes.ts";
import type { SignInRoutesDeps } from "./sign-in-deps.ts";
import {
  AUTHORIZE_PATH,
  BACK_CHANNEL_PATH,
  CALLBACK_PATH,
  CLIENT_KEYS_PATH,
  CONFIRM_PATH,
  DEVICE_AUTHORIZATION_PATH,
  DEVICE_PATH,
  KEY_PATH,
  LINK_PATH,
  LOGIN_PATH,
  METADATA_PATH,
  PROFILE_PATH,
  SESSION_PATH,
  SIGN_OUT_PATH,
  START_PATH,
} from "./sign-in-paths.ts";

type Route = (context: RequestContext, deps: SignInRoutesDeps) => Awaitable<ApiResponse>;

type Routes = { readonly [method: string]: Route };

// biome-ignore format: a table
const ROUTES: { readonly [path: string]: Routes } = {
  [LOGIN_PATH]:                { GET: openLogin },
  [START_PATH]:                { GET: startSignIn },
  [KEY_PATH]:                  { POST: signInWithKey },
  [LINK_PATH]:                 { GET: showLink, POST: signInWithLink },
  [SESSION_PATH]:              { GET: showSession, POST: openSession, DELETE: closeSession },
  [CONFIRM_PATH]:              { GET: confirmPage, POST: confirmSignIn },
  [AUTHORIZE_PATH]:            { GET: authorize },
  [DEVICE_PATH]:               { GET: (context) => devicePage(context), POST: takeUserCode },
  [DEVICE_AUTHORIZATION_PATH]: { POST: authorizeDevice },
  [METADATA_PATH]:             { GET: (_, deps) => describeServer(deps) },
  [CLIENT_KEYS_PATH]:          { GET: (_, deps) => showClientKeys(deps) },
  [PROFILE_PATH]:              { GET: profilePage },
  [SIGN_OUT_PATH]:             { POST: signOut },
};
/** Paths that users open in a browser. */
const PAGES: readonly string[] = [LOGIN_PATH, START_PATH, LINK_PATH, AUTHORIZE_PATH, DEVICE_PATH, PROFILE_PATH];

const isBelow = (path: string, base: string): boolean =>
  path.startsWith(`${base}/`) && path.length > base.length + 1 && !path.slice(base.length + 1).includes("/");

export const isSignInPath = (path: string): boolean =>
  Object.hasOwn(ROUTES, path) || isBelow(path, CALLBACK_PATH) || isBelow(path, BACK_CHANNEL_PATH);

/** For users who type, and command lines that poll every few seconds. */
const PER_SOURCE = { qps: 10, burst: 200 };
/** Device codes can be requested without signing in: each is stored for minutes, and their number is limited. */
const DEVICES = { qps: 0.2, burst: 20 };

export const signInLimits = ({ rateLimiter }: Pick<Foundation, "rateLimiter">): RateLimits => ({
  perSource: rateLimiter(PER_SOURCE),
});

const tooManyDevices = (seconds: number): ApiResponse =>
  oauthAnswer(
    429,
    { error: "temporarily_unavailable", error_description: "too many devices ask for a code, try again later" },
    { "retry-after": String(seconds) },
  );

/** A person who looks at a page gets refusals as pages, and a program as the API has them. */
async function answerOf(answer: () => Awaitable<ApiResponse>, request: ApiRequest): Promise<ApiResponse> {
  try {
    return await answer();
  } catch (error) {
    if (isApiError(error) && headerOf(request, "accept").includes("text/html")) return errorPage(error);
    throw error;
  }
}

export function createSignInRoutes(deps: SignInRoutesDeps, backChannel: BackChannelLogoutDeps): Handler {
  const devices = deps.rateLimiter(DEVICES);
  const routesOf = (path: string): Routes => {
    if (isBelow(path, CALLBACK_PATH)) return { GET: finishSignIn };
    if (isBelow(path, BACK_CHANNEL_PATH)) return { POST: (context) => logOutByBackChannel(context, backChannel) };
    return ROUTES[path] ?? {};
  };
  return async (context) => {
    const { request, info } = context;
    const { path } = info;
    const { method } = request;
    if (!isSignInPath(path)) throw resourceNotFoundError();
    const routes = routesOf(path);
    // A method may be any string, such as the name of a property of every object.
    const route = Object.hasOwn(routes, method) ? routes[method] : undefined;
    if (route === undefined) throw methodNotAllowedError();
    if (path === DEVICE_AUTHORIZATION_PATH) {
      const delay = devices.delayOf(sourceOf(request.remoteAddress));
      if (delay !== undefined) return tooManyDevices(delay);
    }
    const own = new URL(deps.publicUrl());
    if (method === "GET" && PAGES.includes(path) && request.host !== own.host) {
      const query = request.query.size === 0 ? "" : `?${request.query}`;
      return redirectResponse(`${own.origin}${path}${query}`);
    }
    return inTheme(await answerOf(() => route(context, deps), request), request);
  };
}

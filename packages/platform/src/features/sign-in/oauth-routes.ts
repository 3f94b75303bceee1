// The authorization server for the command line: with a loopback redirect, or with a device code.
// Source: RFC 6749, RFC 7636 (PKCE), RFC 8252 (native apps), RFC 8414 (metadata), RFC 8628 (device grant), RFC 9207 (iss)

import { createHash } from "node:crypto";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { TOKEN_EXCHANGE_PATH } from "../trust/token-exchange.ts";
import { auditIssued, auditProvider, auditRefusal } from "./audit-sign-in.ts";
import { checkSameOrigin, isLoopbackRedirect } from "./cookies-and-origins.ts";
import { choosePage } from "./login-routes.ts";
import { SignInRefusal } from "./map-claims.ts";
import { html, pageResponse, redirectResponse } from "./pages.ts";
import { askedByForm, failurePage, isSameText, oauthAnswer, oauthFailure } from "./route-support.ts";
import {
  AUTHORIZE_PATH,
  CLI_CLIENT,
  DEVICE_AUTHORIZATION_PATH,
  DEVICE_PATH,
  type SignInRoutesDeps,
} from "./sign-in-deps.ts";
import { readProof } from "./sign-in-service.ts";

export const CODE_GRANT = "authorization_code";
export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

const DEVICE_MS = 10 * 60_000;
const POLL_SECONDS = 3;
/** Without vowels, so that codes are no words, and without similar letters (RFC 8628 section 6.1). */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LENGTH = 8;
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** GET /.well-known/oauth-authorization-server */
export function describeServer({ publicUrl, providers }: SignInRoutesDeps): ApiResponse {
  const url = publicUrl();
  return oauthAnswer(200, {
    issuer: url,
    authorization_endpoint: `${url}${AUTHORIZE_PATH}`,
    token_endpoint: `${url}${TOKEN_EXCHANGE_PATH}`,
    device_authorization_endpoint: `${url}${DEVICE_AUTHORIZATION_PATH}`,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: [CODE_GRANT, DEVICE_GRANT, "urn:ietf:params:oauth:grant-type:token-exchange"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: true,
    sign_in_available: providers.all().some(({ isOff }) => !isOff),
  });
}

/** GET /oauth/authorize: a command line opens this in the browser. Errors in the address are shown here, without a redirect. */
export function authorize({ request }: RequestContext, deps: SignInRoutesDeps): ApiResponse {
  const { query } = request;
  const isOnce = new Set(query.keys()).size === query.size;
  const redirectUri = query.get("redirect_uri") ?? "";
  if (!isOnce || query.get("client_id") !== CLI_CLIENT || !isLoopbackRedirect(redirectUri))
    return failurePage(400, "The request of the command line is not valid. Start again.");
  const state = query.get("state") ?? "";
  const challenge = query.get("code_challenge") ?? "";
  const fault =
    query.get("response_type") !== "code"
      ? "unsupported_response_type"
      : !CHALLENGE.test(challenge) || query.get("code_challenge_method") !== "S256" || state.length > 512
        ? "invalid_request"
        : undefined;
  if (fault === undefined) return choosePage({ kind: "loopback", redirectUri, state, challenge }, deps);
  const target = new URL(redirectUri);
  target.searchParams.set("error", fault);
  target.searchParams.set("iss", deps.publicUrl());
  if (state !== "" && state.length <= 512) target.searchParams.set("state", state);
  return redirectResponse(target.href);
}

/** POST /oauth/device_authorization */
export async function authorizeDevice({ request }: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const { transactions, records, clock, publicUrl } = deps;
  const form = await askedByForm(request);
  if (form.get("client_id") !== CLI_CLIENT) return oauthFailure("invalid_client", "there is no such client", 401);
  const until = clock.now() + DEVICE_MS;
  const deviceCode = transactions.secret();
  const userCode = newUserCode(transactions.secret);
  if (!(await records.putDevice({ deviceCode, userCode, from: request.remoteAddress }, until)))
    return oauthFailure("temporarily_unavailable", "too many sign-ins are pending, try again later", 503);
  const page = `${publicUrl()}${DEVICE_PATH}`;
  return oauthAnswer(200, {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${userCode}`,
    expires_in: DEVICE_MS / 1000,
    interval: POLL_SECONDS,
  });
}

function newUserCode(secret: () => string): string {
  let code = "";
  while (code.length < CODE_LENGTH) {
    for (const byte of Buffer.from(secret(), "base64url")) {
      // Every letter has the same probability.
      if (byte < 240 && code.length < CODE_LENGTH) code += LETTERS[byte % LETTERS.length];
    }
  }
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** As people type it. */
function userCodeIn(text: string): string {
  const letters = [...text.toUpperCase()].filter((letter) => LETTERS.includes(letter)).join("");
  return `${letters.slice(0, 4)}-${letters.slice(4, CODE_LENGTH)}`;
}

/** GET /device: the form for the code that the command line shows. */
export const devicePage = ({ request }: Pick<RequestContext, "request">, fault = ""): ApiResponse =>
  pageResponse(
    "Sign in on the command line",
    html`${fault === "" ? html`` : html`<p role="alert">${fault}</p>`}
<p class="note">Enter a code only if your command line shows it. Never enter a code from a message or a call.</p>
<form method="post" action="${DEVICE_PATH}"><label for="code">Code</label>
<input id="code" name="user_code" autocomplete="off" spellcheck="false" maxlength="16" required value="${codeIn(request)}">
<button type="submit">Continue</button></form>`,
    fault === "" ? {} : { status: 400 },
  );

const codeIn = ({ query }: ApiRequest): string => {
  const text = query.get("user_code") ?? "";
  return text === "" || text.length > 16 ? "" : userCodeIn(text);
};

/** POST /device */
export async function takeUserCode(context: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const { request } = context;
  checkSameOrigin(request, deps.publicUrl());
  const userCode = userCodeIn(((await askedByForm(request)).get("user_code") ?? "").slice(0, 64));
  const found = await deps.records.read("user-code", userCode);
  if (found === undefined) return devicePage(context, "The code is not valid or has expired.");
  return choosePage({ kind: "device", userCode, from: String(found.content["from"] ?? "") }, deps);
}

/** POST /oauth/token for the key of a session. */
export async function redeem(
  form: URLSearchParams,
  context: RequestContext,
  deps: SignInRoutesDeps,
): Promise<ApiResponse> {
  const { request } = context;
  if (form.get("client_id") !== CLI_CLIENT) return oauthFailure("invalid_client", "there is no such client", 401);
  try {
    const isCode = form.get("grant_type") === CODE_GRANT;
    const found = await (isCode ? redeemCode(form, deps) : redeemDevice(form, deps));
    if ("status" in found) {
      if (found.refusal !== undefined) auditRefusal(context, deps, found.refusal);
      return found;
    }
    const { proof } = found;
    const { value, expiresAt } = await deps.service.mint(proof, `Command line at ${request.remoteAddress}`);
    auditIssued(context, deps, value);
    auditProvider(context, deps, proof.provider);
    const seconds = Math.max(0, Math.floor((expiresAt - deps.clock.now()) / 1000));
    return oauthAnswer(200, { access_token: value, token_type: "Bearer", expires_in: seconds });
  } catch (error) {
    if (!(error instanceof SignInRefusal)) throw error;
    auditRefusal(context, deps, error.message);
    return oauthFailure("invalid_grant", "the sign-in is not valid any more");
  }
}

/** `refusal`: for the audit log. Unset while the command line waits. */
type Redeemed =
  | (ApiResponse & { readonly refusal?: string })
  | { readonly proof: NonNullable<ReturnType<typeof readProof>> };

async function redeemCode(form: URLSearchParams, { records }: SignInRoutesDeps): Promise<Redeemed> {
  const verifier = form.get("code_verifier") ?? "";
  // Only one guess is possible.
  const content = await records.take("code", form.get("code") ?? "");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const isGood =
    content !== undefined &&
    VERIFIER.test(verifier) &&
    isSameText(challenge, String(content["challenge"])) &&
    isSameText(form.get("redirect_uri") ?? "", String(content["redirectUri"]));
  const proof = isGood ? readProof(content) : undefined;
  if (proof !== undefined) return { proof };
  const refusal =
    content === undefined ? "the code is not valid or has expired" : "the code belongs to another client (PKCE)";
  return { ...oauthFailure("invalid_grant", "the code is not valid"), refusal };
}

async function redeemDevice(form: URLSearchParams, { records, clock }: SignInRoutesDeps): Promise<Redeemed> {
  const code = form.get("device_code") ?? "";
  const record = await records.read("device", code);
  if (record === undefined) return OVER;
  const { waits, denied, polledAt } = record.content;
  if (denied === true) {
    await records.take("device", code);
    return { ...oauthFailure("access_denied", "the sign-in was refused"), refusal: "the user refused" };
  }
  if (waits === true) {
    // Negative where the clock was set back, or where it is behind that of the server which took the poll before.
    const sincePoll = typeof polledAt === "number" ? clock.now() - polledAt : -1;
    const isTooSoon = sincePoll >= 0 && sincePoll < (POLL_SECONDS - 1) * 1000;
    if (isTooSoon) return oauthFailure("slow_down", "polled too often");
    // If the user has answered meanwhile, the next poll finds it.
    await records.replace("device", code, record, { waits: true, polledAt: clock.now() });
    return oauthFailure("authorization_pending", "the sign-in is not confirmed yet");
  }
  const content = await records.take("device", code);
  const proof = content && readProof(content);
  return proof === undefined ? OVER : { proof };
}

const OVER: Redeemed = {
  ...oauthFailure("expired_token", "the code has expired or was used"),
  refusal: "the device code is not valid or has expired",
};

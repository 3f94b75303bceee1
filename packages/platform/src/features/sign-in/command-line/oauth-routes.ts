// The authorization server for the command line: with a loopback redirect or, in device-codes.ts, with a device code.
// Source: RFC 6749, RFC 7636 (PKCE), RFC 8252 (native apps), RFC 8414 (metadata), RFC 8628 (device grant), RFC 9207 (iss)

import { createHash } from "node:crypto";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { type ApiResponse, jsonResponse } from "@postern/apiserver/transport/api-response";
import { SIGNATURE_ALGORITHMS } from "../../../foundation/issuers/key-set.ts";
import {
  oauthAnswer,
  oauthFailure,
  TOKEN_ENDPOINT_PATH,
  type TokenGrants,
} from "../../../foundation/issuers/token-endpoint.ts";
import { confirmationBy, InvalidProofError } from "../../access-keys/proofs/key-request-proof.ts";
import { auditIssued, auditProvider, auditRefusal } from "../audit-sign-in.ts";
import { choosePage } from "../login-routes.ts";
import { failurePage, redirectResponse } from "../pages/pages.ts";
import { isSameText } from "../pages/sign-in-forms.ts";
import { SignInRefusal } from "../providers/map-claims.ts";
import { isLoopbackRedirect } from "../sessions/cookies-and-origins.ts";
import type { SignInRoutesDeps } from "../sign-in-deps.ts";
import { AUTHORIZE_PATH, CLI_CLIENT, DEVICE_AUTHORIZATION_PATH } from "../sign-in-paths.ts";
import { readProof } from "../sign-in-service.ts";
import { DEVICE_GRANT, type Redeemed, redeemDevice } from "./device-codes.ts";

const CODE_GRANT = "authorization_code";
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** GET /.well-known/oauth-authorization-server */
export function describeServer({ publicUrl, providers }: SignInRoutesDeps): ApiResponse {
  const url = publicUrl();
  return oauthAnswer(200, {
    issuer: url,
    authorization_endpoint: `${url}${AUTHORIZE_PATH}`,
    token_endpoint: `${url}${TOKEN_ENDPOINT_PATH}`,
    device_authorization_endpoint: `${url}${DEVICE_AUTHORIZATION_PATH}`,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: [CODE_GRANT, DEVICE_GRANT, "urn:ietf:params:oauth:grant-type:token-exchange"],
    code_challenge_methods_supported: ["S256"],
    dpop_signing_alg_values_supported: SIGNATURE_ALGORITHMS,
    token_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: true,
    sign_in_available: providers.all().some(({ isOff }) => !isOff),
  });
}

/** Shorter than a new key is published before it signs. */
const MAX_AGE_SECONDS = 3600;

/** GET /oauth/client-keys: for providers at which this server is a client that authenticates with a key of its own. */
export async function showClientKeys({ clientKeys }: Pick<SignInRoutesDeps, "clientKeys">): Promise<ApiResponse> {
  const set = await clientKeys.published();
  return jsonResponse(200, JSON.stringify(set), {
    "content-type": "application/jwk-set+json",
    // The first key may come at any time.
    "cache-control": set.keys.length === 0 ? "no-store" : `public, max-age=${MAX_AGE_SECONDS}`,
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

/** The grants of the token endpoint that give the key of a session. */
export function sessionGrants(deps: SignInRoutesDeps): TokenGrants {
  return {
    [CODE_GRANT]: (form, context) => redeem(redeemCode, form, context, deps),
    [DEVICE_GRANT]: (form, context) => redeem(redeemDevice, form, context, deps),
  };
}

async function redeem(
  find: (form: URLSearchParams, deps: SignInRoutesDeps) => Promise<Redeemed>,
  form: URLSearchParams,
  context: RequestContext,
  deps: SignInRoutesDeps,
): Promise<ApiResponse> {
  const { request } = context;
  if (form.get("client_id") !== CLI_CLIENT) return oauthFailure("invalid_client", "there is no such client", 401);
  // Before the code is taken: a client without a nonce comes again with the same one.
  const confirm = confirmationBy(request, deps.proofs);
  try {
    const found = await find(form, deps);
    if ("status" in found) {
      if (found.refusal !== undefined) auditRefusal(context, deps, found.refusal);
      return found;
    }
    const { proof } = found;
    const bond = await confirm?.({ kind: "user", name: proof.signedIn.user });
    const { value, expiresAt } = await deps.service.mint(proof, `Command line at ${request.remoteAddress}`, bond);
    auditIssued(context, deps, value);
    auditProvider(context, deps, proof.provider);
    const seconds = Math.max(0, Math.floor((expiresAt - deps.clock.now()) / 1000));
    const type = bond === undefined ? "Bearer" : "DPoP";
    return oauthAnswer(200, { access_token: value, token_type: type, expires_in: seconds });
  } catch (error) {
    if (!(error instanceof SignInRefusal || error instanceof InvalidProofError)) throw error;
    auditRefusal(context, deps, error.message);
    if (error instanceof InvalidProofError) return oauthFailure("invalid_dpop_proof", error.message);
    return oauthFailure("invalid_grant", "the sign-in is not valid any more");
  }
}

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

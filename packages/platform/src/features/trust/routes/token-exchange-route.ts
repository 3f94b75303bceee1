// POST /oauth/token: token exchange (RFC 8693) for holders of tokens that a trust rule accepts, beside the grants of other features.

import type { PlatformNames } from "@postern/api/platform-names";
import { ISSUED_CREDENTIAL_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";
import type { Handler, RequestContext } from "@postern/apiserver/context/request-context";
import { headerOf } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { Foundation } from "../../../foundation/foundation.ts";
import { MAX_TOKEN_FORM_BYTES, oauthAnswer, type TokenGrants } from "../../../foundation/issuers/token-endpoint.ts";
import { AccessKeyRefusedError } from "../../access-keys/access-key-refusal.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import { confirmationBy, InvalidProofError } from "../../access-keys/proofs/key-request-proof.ts";
import { ExchangeRefusal, type ExchangeTarget, noSuchRule, type TokenExchange } from "../token-exchange.ts";
import { CLUSTER_TRUST_RULES, shownClaims, TRUST_RULES, trustRuleId } from "../trust-rule-state.ts";

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const SUBJECT_TOKEN_TYPES = ["urn:ietf:params:oauth:token-type:jwt", "urn:ietf:params:oauth:token-type:id_token"];
const MAX_PARAMETERS = 20;
/** May be given several times. */
const TARGETS = ["resource", "audience", "rule"] as const;
const MAX_AUDITED = 1_024;

export function createTokenExchangeRoute(
  { names, runtime: { clock } }: Foundation,
  exchange: TokenExchange,
  { secrets: { format }, proofs }: Pick<AccessKeys, "secrets" | "proofs">,
  grants: TokenGrants,
): Handler {
  return async (context) => {
    const { request, audit } = context;
    if (request.method !== "POST") return oauthAnswer(405, { error: "invalid_request" }, { allow: "POST" });
    try {
      const form = await readForm(context);
      const grant = form.get("grant_type") ?? "";
      const other = Object.hasOwn(grants, grant) ? grants[grant] : undefined;
      if (other !== undefined) return await other(form, context);
      checkExchange(form);
      const target = targetIn(form, names);
      const confirm = confirmationBy(request, proofs);
      const { value, expiresAt, rule, token } = await exchange({
        token: form.get("subject_token") ?? "",
        target,
        address: request.remoteAddress,
        confirm,
        outside: context.outside,
      });
      const id = format.idOf(value);
      if (id !== undefined) audit.annotate(ISSUED_CREDENTIAL_ANNOTATION, id);
      const note = (name: string, text: string): void => audit.annotate(names.key(name), text.slice(0, MAX_AUDITED));
      note("trust-rule", rule.id);
      note("trust-user", rule.owner.name);
      note("trust-issuer", token.issuer);
      note("trust-claims", JSON.stringify(shownClaims(token.claims)));
      return oauthAnswer(200, {
        access_token: value,
        issued_token_type: ACCESS_TOKEN,
        token_type: confirm === undefined ? "Bearer" : "DPoP",
        expires_in: Math.max(0, Math.floor((expiresAt - clock.now()) / 1000)),
      });
    } catch (error) {
      return refusal(error, context, names);
    }
  };
}

function refusal(error: unknown, { audit }: Pick<RequestContext, "audit">, names: PlatformNames): ApiResponse {
  if (isApiError(error, "RequestEntityTooLarge"))
    return oauthAnswer(413, failure("invalid_request", "the request is too large"));
  if (isApiError(error) && error.code >= 500)
    return oauthAnswer(503, failure("temporarily_unavailable", "try again later"));
  if (isApiError(error) && error.cause instanceof AccessKeyRefusedError) return challenged(error.message, error.cause);
  if (error instanceof InvalidProofError)
    return refusal(new ExchangeRefusal("invalid_dpop_proof", error.message), { audit }, names);
  if (!(error instanceof ExchangeRefusal)) throw error;
  const note = (name: string, text: string): void =>
    audit.annotate(names.key(name), redactCredentials(text).slice(0, MAX_AUDITED));
  note("trust-refusal", error.detail);
  if (error.token !== undefined) {
    // Untrusted: any client may have written these.
    note("trust-unverified-issuer", error.token.issuer);
    note("trust-unverified-claims", JSON.stringify(shownClaims(error.token.claims)));
  }
  const headers = error.retryAfterSeconds === undefined ? {} : { "retry-after": String(error.retryAfterSeconds) };
  return oauthAnswer(error.status, failure(error.code, error.message), headers);
}

/** In the form of the endpoint (RFC 9449, section 8). */
function challenged(message: string, { headers = {}, isGuess }: AccessKeyRefusedError): ApiResponse {
  const nonce = headers["dpop-nonce"];
  const body = failure(isGuess ? "invalid_dpop_proof" : "use_dpop_nonce", message);
  return oauthAnswer(400, body, nonce === undefined ? {} : { "dpop-nonce": nonce });
}

/** RFC 6749 section 5.2 leaves quotes, backslashes and everything but ASCII out of descriptions. */
const failure = (error: string, description: string) => ({
  error,
  error_description: description.replaceAll(/["\\]/g, "'").replaceAll(/[^ -~]/g, "?"),
});

const invalid = (message: string): ExchangeRefusal => new ExchangeRefusal("invalid_request", message);

/** Throws ExchangeRefusal for a form that does not request a key for a token. */
async function readForm({ request }: RequestContext): Promise<URLSearchParams> {
  const [type = ""] = headerOf(request, "content-type").split(";");
  if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded")
    throw invalid("the body must be application/x-www-form-urlencoded");
  const form = new URLSearchParams(Buffer.from(await request.body(MAX_TOKEN_FORM_BYTES)).toString("utf8"));
  if (form.size > MAX_PARAMETERS) throw invalid("there are too many parameters");
  const isTarget = (name: string): boolean => TARGETS.some((each) => each === name);
  for (const name of new Set(form.keys())) {
    // Names of parameters are the client's: unknown ones are left alone, as RFC 6749 section 3.2 has it.
    if (form.getAll(name).length > 1 && !isTarget(name)) throw invalid("a parameter is given more than once");
  }
  return form;
}

/** Throws ExchangeRefusal. */
function checkExchange(form: URLSearchParams): void {
  // An empty parameter is as good as none.
  const given = (name: string): string => form.get(name) ?? "";
  if (given("grant_type") !== GRANT_TYPE)
    throw new ExchangeRefusal("unsupported_grant_type", `the grant_type must be ${GRANT_TYPE}`);
  if (given("subject_token") === "") throw invalid("the subject_token is missing");
  if (!SUBJECT_TOKEN_TYPES.includes(given("subject_token_type")))
    throw invalid(`the subject_token_type must be ${SUBJECT_TOKEN_TYPES.join(" or ")}`);
  if (!["", ACCESS_TOKEN].includes(given("requested_token_type")))
    throw invalid(`the requested_token_type must be ${ACCESS_TOKEN}`);
  if (given("actor_token") !== "" || given("actor_token_type") !== "")
    throw invalid("delegation is not supported: leave out actor_token");
  if (given("scope") !== "")
    throw new ExchangeRefusal("invalid_scope", "the trust rule decides about the scope: leave out scope");
}

/** Throws ExchangeRefusal where several are named. */
function targetIn(form: URLSearchParams, names: PlatformNames): ExchangeTarget {
  const named = TARGETS.flatMap((name) =>
    form
      .getAll(name)
      .filter((text) => text !== "")
      .map((text) => (name === "resource" ? targetOfAddress(text, names) : targetOfName(text, names))),
  );
  const [first, ...others] = new Map(named.map((target) => [JSON.stringify(target), target])).values();
  if (others.length > 0) throw new ExchangeRefusal("invalid_target", "name only one trust rule");
  return first ?? { kind: "cluster" };
}

/** `deploy`, `team/deploy`, or `team/*` for the only one of the project that takes the token. */
function targetOfName(text: string, names: PlatformNames): ExchangeTarget {
  const [first = "", second, ...rest] = text.split("/");
  if (rest.length > 0 || first === "") throw noSuchRule();
  if (second === undefined) return { kind: "rule", id: trustRuleId("", first) };
  if (second === "*") return { kind: "project", project: first };
  return { kind: "rule", id: trustRuleId(names.projectNamespace(first), second) };
}

/** The address of the rule in the API of this platform, wherever its server is. */
function targetOfAddress(text: string, { managementGroup }: PlatformNames): ExchangeTarget {
  const { pathname } = URL.canParse(text) ? new URL(text) : { pathname: "" };
  const [, path] = pathname.split(`/apis/${managementGroup}/v1/`);
  const [first, second = "", third, fourth = "", ...rest] = (path ?? "").split("/");
  if (first === CLUSTER_TRUST_RULES && second !== "" && third === undefined)
    return { kind: "rule", id: trustRuleId("", second) };
  if (first === "namespaces" && third === TRUST_RULES && second !== "" && fourth !== "" && rest.length === 0)
    return { kind: "rule", id: trustRuleId(second, fourth) };
  throw noSuchRule();
}

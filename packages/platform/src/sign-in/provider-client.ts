// The OpenID Connect client: authorization requests, code exchange, and refresh.
// Source: OpenID Connect Core 1.0, RFC 6749, RFC 7636 (PKCE), RFC 9207 (iss), RFC 9700 (best current practice)

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";
import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  discovery,
  fetchUserInfo,
  None,
  ResponseBodyError,
  refreshTokenGrant,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
  WWWAuthenticateChallengeError,
} from "openid-client";
import type { AccessKeySpec } from "../api/owned-access-key.ts";
import { withoutInvisible } from "../directory/readable-name.ts";
import { faultOf as upstreamFaultOf } from "../proxy/upstream-failure.ts";
import { discoveryUrlOf, httpsUrl } from "../trust/fetch-key-set.ts";
import { FetchError, type IssuerKeys } from "../trust/issuer-keys.ts";
import { candidateKeys, decodeToken, isSignedBy, TokenError, timeError } from "../trust/signed-token.ts";
import { GROUPS_CLAIM, SignInRefusal } from "./map-claims.ts";
import type { ProviderFetch } from "./provider-fetch.ts";
import type { IdentityProviderState } from "./provider-state.ts";

/** Values sent with the browser, which its return must match. */
export type SignInChecks = {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
};

export type ProviderAnswer = {
  /** Claims of the ID token, and of the userinfo endpoint for missing ones. */
  readonly claims: JsonObject;
  /** `sub` of the ID token. */
  readonly subject: string;
  /** `sid` of the ID token; "" where it has none. */
  readonly sid: string;
  /** Absent: the provider returned none. */
  readonly refreshToken: string | undefined;
  /** The client and the request that the refresh token was issued for; undefined without one, and after a refresh. */
  readonly issuedTo?: TokenClient | undefined;
};

/** The provider refused the code or the refresh token. */
export class ProviderRefusal extends Error {
  override readonly name = "ProviderRefusal";
}

/** The provider is unreachable, or its response is invalid. */
export class ProviderError extends Error {
  override readonly name: string = "ProviderError";
}

/** The provider says that this server is not the client that it pretends to be: an administrator must correct the client. */
export class ClientRefusedError extends ProviderError {
  override readonly name = "ClientRefusedError";
}

/** The ID token is not valid at this time: an administrator must set the clocks, and retrying does not help. */
export class ProviderClockError extends ProviderError {
  override readonly name = "ProviderClockError";
}

export type ProviderClient = {
  /** The URL to redirect the browser to. Rejects with ProviderError. */
  authorizationUrl(provider: IdentityProviderState, redirectUri: string, checks: SignInChecks): Promise<string>;
  /** `answer` is the URL that the browser returned to. Rejects with ProviderRefusal and ProviderError. */
  takeCode(provider: IdentityProviderState, answer: URL, checks: SignInChecks): Promise<ProviderAnswer>;
  /** `subject` is that of the session. Rejects with ProviderRefusal and ProviderError. */
  refresh(provider: IdentityProviderState, refreshToken: string, subject: string): Promise<ProviderAnswer>;
  /** Why users cannot sign in: discovery fails, or the provider has refused the client since its settings were changed. Undefined if they can. */
  faultOf(provider: IdentityProviderState): Promise<ProviderFault | undefined>;
  /** Calls back with the name of a provider that begins or ceases to refuse the client. */
  onChange(listener: (provider: string) => void): Disposable;
};

export type ProviderFault = { readonly reason: "DiscoveryFailed" | "ClientRefused"; readonly message: string };

export type ProviderClientDeps = {
  readonly fetchFrom: ProviderFetch;
  readonly issuerKeys: Pick<IssuerKeys, "find">;
  /** The value of a Secret; undefined without one. */
  readonly secretAt: (namespace: string, name: string, key: string) => string | undefined;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
};

/** As in `spec.oidcProvider` of an access key. */
export type TokenClient = Required<NonNullable<AccessKeySpec["oidcProvider"]>>;

/** For all requests of one step together, so that a provider that answers drop by drop is left in time. */
const STEP_MS = 20_000;
/** Steps with one provider at a time: one that does not answer uses up no places of others. */
const MAX_STEPS = 50;
/** Six times the other tokens: 500 groups of up to 128 characters fit. */
const MAX_ID_TOKEN_LENGTH = 96 * 1024;
const CONFIGURATION_MS = 10 * 60_000;
const TOLERANCE_SECONDS = 30;

type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;
type Known = {
  readonly terms: string;
  readonly secret: string;
  readonly until: number;
  readonly made: Promise<Configuration>;
};

export function createProviderClient({
  fetchFrom,
  issuerKeys,
  secretAt,
  clock,
  scheduler,
}: ProviderClientDeps): ProviderClient {
  const known = new Map<string, Known>();
  /** By provider. */
  const steps = new Map<string, number>();
  /** Providers that refuse the client, with the settings that they refuse. */
  const refusing = new Map<string, { readonly terms: string; readonly secret: string; readonly message: string }>();
  const listeners = new ChangeListeners<[string]>();
  const noteRefusal = (provider: IdentityProviderState, message: string | undefined): void => {
    const { name, terms } = provider;
    const before = refusing.get(name)?.message;
    if (message === undefined) refusing.delete(name);
    else refusing.set(name, { terms, secret: secretOf(provider, secretAt), message });
    if (before !== message) listeners.call(name);
  };

  const inTime = async <T>({ name }: IdentityProviderState, work: () => Promise<T>): Promise<T> => {
    const others = steps.get(name) ?? 0;
    if (others >= MAX_STEPS) throw new ProviderError(`${MAX_STEPS} requests to it are in progress`);
    steps.set(name, others + 1);
    let timer: Disposable | undefined;
    const late = new Promise<never>((_, reject) => {
      const fault = new ProviderError(`it did not answer within ${STEP_MS / 1000} seconds`);
      timer = scheduler.schedule(STEP_MS, () => reject(fault));
    });
    try {
      return await Promise.race([work(), late]);
    } finally {
      timer?.[Symbol.dispose]();
      const left = (steps.get(name) ?? 1) - 1;
      if (left > 0) steps.set(name, left);
      else steps.delete(name);
    }
  };

  const configurationOf = async (provider: IdentityProviderState): Promise<Configuration> => {
    const { name, terms } = provider;
    const secret = secretOf(provider, secretAt);
    const before = known.get(name);
    const isCurrent = before?.terms === terms && before.secret === secret && before.until > clock.elapsed();
    if (isCurrent) return await before.made;
    // All waiting callers get the same message.
    const made = discover(provider, secret, fetchFrom).catch((error: unknown) => {
      throw faultFrom(error, "its discovery document is not valid", [secret]);
    });
    known.set(name, { terms, secret, until: clock.elapsed() + CONFIGURATION_MS, made });
    try {
      return await made;
    } catch (error) {
      if (known.get(name)?.made === made) known.delete(name);
      throw error;
    }
  };

  /** Throws ProviderError if none of the provider's keys signed it. */
  const verified = async ({ source }: IdentityProviderState, text: string): Promise<JsonObject> => {
    if (text.length > MAX_ID_TOKEN_LENGTH)
      throw new SignInRefusal(
        `the ID token of your provider has ${text.length} characters, and at most ${MAX_ID_TOKEN_LENGTH} are accepted: an administrator must make the provider send fewer groups or claims`,
      );
    const token = decodeToken(text, { maxLength: MAX_ID_TOKEN_LENGTH });
    const { keys } = await issuerKeys.find(source, (set) => candidateKeys(token, set).length === 0);
    if (!(await isSignedBy(token, candidateKeys(token, keys))))
      throw new ProviderError("none of its keys signed the ID token");
    if (token.issuer !== source.issuer)
      throw new ProviderError(`the ID token is from the issuer ${said(token.issuer)}, not ${source.issuer}`);
    const fault = timeError(token, clock.now());
    if (fault !== undefined) throw new ProviderClockError(fault);
    return token.claims;
  };

  const answerOf = async (
    configuration: Configuration,
    provider: IdentityProviderState,
    tokens: Tokens,
    expectedSubject: string | undefined,
  ): Promise<ProviderAnswer> => {
    const { id_token: idToken, access_token: accessToken, refresh_token: refreshToken } = tokens;
    const own = idToken === undefined ? {} : await verified(provider, idToken);
    const subject = typeof own["sub"] === "string" ? own["sub"] : expectedSubject;
    if (subject === undefined || (expectedSubject !== undefined && subject !== expectedSubject))
      throw new ProviderError("its tokens are for another user");
    const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
    // Its library has checked that it is an object, about the same subject.
    const info = hasUserInfo ? ((await fetchUserInfo(configuration, accessToken, subject)) as JsonObject) : {};
    const { sid } = own;
    const claims = { ...info, ...own };
    return {
      claims: await withDistributedClaims(claims, {
        provider,
        accessToken,
        userInfoUrl: configuration.serverMetadata().userinfo_endpoint,
        fetch: fetchFrom(provider.source),
        verified: (text) => verified(provider, text),
      }),
      subject,
      sid: typeof sid === "string" ? sid : "",
      refreshToken,
    };
  };

  /** `secrets` are those of this step, which the provider may repeat in its error. */
  const asking = async <T>(
    provider: IdentityProviderState,
    secrets: readonly string[],
    ask: () => Promise<T>,
  ): Promise<T> => {
    try {
      const answer = await inTime(provider, ask);
      noteRefusal(provider, undefined);
      return answer;
    } catch (error) {
      if (error instanceof ProviderError || error instanceof SignInRefusal) throw error;
      const hidden = [...secrets, secretOf(provider, secretAt)];
      if (error instanceof ResponseBodyError && error.error === "invalid_grant")
        throw new ProviderRefusal(`the provider refused the grant: ${answeredBy(error, hidden)}`, { cause: error });
      const fault = faultFrom(error, "its response is not valid", hidden);
      if (fault instanceof ClientRefusedError) noteRefusal(provider, fault.message);
      throw fault;
    }
  };

  return {
    async authorizationUrl(provider, redirectUri, { state, nonce, verifier }) {
      const configuration = await inTime(provider, () => configurationOf(provider));
      const url = buildAuthorizationUrl(configuration, {
        response_type: "code",
        redirect_uri: redirectUri,
        scope: provider.scopes.join(" "),
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        // OpenID Connect Core section 11: without it, offline_access is to be ignored.
        ...(provider.scopes.includes("offline_access") ? { prompt: "consent" } : {}),
      });
      return httpsUrl(url.href, "its authorization endpoint").href;
    },
    takeCode: (provider, answer, { state, nonce, verifier }) =>
      asking(provider, [answer.searchParams.get("code") ?? "", verifier], async () => {
        const configuration = await configurationOf(provider);
        const tokens = await authorizationCodeGrant(configuration, answer, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const taken = await answerOf(configuration, provider, tokens, undefined);
        if (taken.refreshToken === undefined) return taken;
        const { scope = provider.scopes.join(" ") } = tokens;
        const redirectUri = `${answer.origin}${answer.pathname}`;
        return { ...taken, issuedTo: { clientId: provider.spec.clientId, nonce, redirectUri, scopes: scope } };
      }),
    refresh: (provider, refreshToken, subject) =>
      asking(provider, [refreshToken], async () => {
        const configuration = await configurationOf(provider);
        const tokens = await refreshTokenGrant(configuration, refreshToken);
        return await answerOf(configuration, provider, tokens, subject);
      }),
    async faultOf(provider) {
      try {
        await inTime(provider, () => configurationOf(provider));
      } catch (error) {
        return { reason: "DiscoveryFailed", message: error instanceof Error ? error.message : String(error) };
      }
      const found = refusing.get(provider.name);
      const isCurrent = found?.terms === provider.terms && found.secret === secretOf(provider, secretAt);
      return isCurrent ? { reason: "ClientRefused", message: found.message } : undefined;
    },
    onChange: (listener) => listeners.add(listener),
  };
}

async function discover(
  provider: IdentityProviderState,
  secret: string,
  fetchFrom: ProviderFetch,
): Promise<Configuration> {
  const { source, spec } = provider;
  const fetch = fetchFrom(source);
  const options = { algorithm: "oidc", [customFetch]: fetch } as const;
  const found = await discovery(discoveryUrlOf(source), spec.clientId, {}, authenticationOf(provider, secret), options);
  const metadata = found.serverMetadata();
  // Otherwise another issuer's endpoints would be used under this name.
  if (metadata.issuer !== source.issuer)
    throw new ProviderError(
      `its discovery document is for the issuer ${said(metadata.issuer)}, not ${source.issuer}: correct spec.issuer.url`,
    );
  const configuration = new Configuration(
    metadata,
    spec.clientId,
    { [clockTolerance]: TOLERANCE_SECONDS },
    authenticationOf(provider, secret),
  );
  configuration[customFetch] = fetch;
  return configuration;
}

function authenticationOf({ spec }: IdentityProviderState, secret: string): ClientAuth {
  if (spec.clientSecretRef === undefined) return None();
  return spec.clientAuthentication === "Post" ? ClientSecretPost(secret) : ClientSecretBasic(secret);
}

function secretOf(
  { spec: { clientSecretRef: reference } }: IdentityProviderState,
  secretAt: ProviderClientDeps["secretAt"],
): string {
  if (reference === undefined) return "";
  const { secretNamespace, secretName, key = "clientSecret" } = reference;
  // Files and editors end a line where nobody sees it.
  const secret = secretAt(secretNamespace, secretName, key)?.trim();
  if (secret === undefined || secret === "")
    throw new ProviderError(`the Secret ${secretNamespace}/${secretName} has no ${key}`);
  return secret;
}

const MAX_SAID = 200;

/** A text of the provider, for people: without what is invisible, and without secrets that it repeats. */
function said(text: string, secrets: readonly string[] = []): string {
  const known = secrets.filter((secret) => secret !== "");
  const plain = known.reduce((left, secret) => left.replaceAll(secret, "[redacted]"), text);
  const visible = withoutInvisible(redactCredentials(plain)).replaceAll(/\p{Cc}+/gu, " ");
  return visible.length > MAX_SAID ? `${visible.slice(0, MAX_SAID)}...` : visible;
}

/** `error` and `error_description` of a response (RFC 6749 sections 4.1.2.1 and 5.2). */
export const saidByProvider = (
  code: string,
  description: string | undefined,
  secrets: readonly string[] = [],
): string => said(description === undefined || description === "" ? code : `${code} (${description})`, secrets);

const answeredBy = ({ error, error_description: description }: ResponseBodyError, secrets: readonly string[]): string =>
  saidByProvider(error, description, secrets);

const CLIENT_FAULTS: readonly string[] = ["invalid_client", "unauthorized_client"];

/** Messages of libraries may quote secrets, so users get our own. */
function faultFrom(error: unknown, otherwise: string, secrets: readonly string[]): ProviderError {
  if (error instanceof ProviderError) return error;
  if (error instanceof ClientError && error.code === "OAUTH_JWT_TIMESTAMP_CHECK_FAILED")
    return new ProviderClockError("the ID token is not valid at this time", { cause: error });
  if (error instanceof ResponseBodyError) {
    const message = `it answers ${answeredBy(error, secrets)}`;
    return CLIENT_FAULTS.includes(error.error)
      ? new ClientRefusedError(message, { cause: error })
      : new ProviderError(message, { cause: error });
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    const [challenge] = error.cause;
    const { error: code, error_description: description } = challenge?.parameters ?? {};
    const message = `it answers ${code === undefined ? `with code ${error.status}` : saidByProvider(code, description, secrets)}`;
    // Clients authenticate with Basic, users' access tokens are Bearer.
    const isOfClient = challenge?.scheme === "basic" || CLIENT_FAULTS.includes(code ?? "");
    return isOfClient
      ? new ClientRefusedError(message, { cause: error })
      : new ProviderError(message, { cause: error });
  }
  return new ProviderError(causeIn(error) ?? otherwise, { cause: error });
}

const MAX_CAUSES = 5;

/** What this server says itself, below what the library makes of it. */
function causeIn(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    if (isApiError(current)) return `it cannot be reached: ${upstreamFaultOf(current).message}`;
    if (current instanceof FetchError || current instanceof TokenError) return current.message;
    const found = issuerFaultIn(current);
    if (found !== undefined) return found;
    current = current.cause;
  }
  return undefined;
}

/** The library says in `cause` which claim of the ID token it did not expect. */
function issuerFaultIn({ cause }: Error): string | undefined {
  const { claim, claims, expected } = isJsonObject(cause as never) ? (cause as JsonObject) : {};
  if (typeof claim !== "string" || !isJsonObject(claims)) return undefined;
  const found = claims[claim];
  if (claim !== "iss" || typeof found !== "string")
    return `the claim ${said(claim)} of the ID token is not the expected one`;
  return `the ID token is from the issuer ${said(found)}${typeof expected === "string" ? `, not ${expected}` : ""}`;
}

// Distributed claims: claims that the provider names and does not send, such as those of users in many groups (Entra ID: overage).
// Source: OpenID Connect Core 1.0, section 5.6.2; learn.microsoft.com/entra/identity-platform/access-token-claims-reference

type DistributedClaimsDeps = {
  readonly provider: IdentityProviderState;
  readonly accessToken: string;
  readonly userInfoUrl: string | undefined;
  readonly fetch: ReturnType<ProviderFetch>;
  readonly verified: (token: string) => Promise<JsonObject>;
};

/** With the claim of the groups, if it can be fetched. If not, `missingGroups` finds that it is missing. */
async function withDistributedClaims(claims: JsonObject, deps: DistributedClaimsDeps): Promise<JsonObject> {
  const { _claim_names: names, _claim_sources: sources, ...others } = claims;
  const name = deps.provider.spec.claimMappings.groups === undefined ? "" : GROUPS_CLAIM;
  const source = isJsonObject(names) && isJsonObject(sources) ? sources[String(names[name] ?? "")] : undefined;
  if (claims[name] !== undefined || !isJsonObject(source)) return claims;
  try {
    const value = await fetchClaim(name, source, deps);
    return value === undefined ? claims : { ...others, [name]: value };
  } catch {
    // The user and the administrator are told that groups are missing.
    return claims;
  }
}

async function fetchClaim(
  name: string,
  source: JsonObject,
  deps: DistributedClaimsDeps,
): Promise<JsonValue | undefined> {
  const { JWT: token, endpoint, access_token: own } = source;
  // An aggregated claim, section 5.6.2.1.
  if (typeof token === "string") return (await deps.verified(token))[name];
  if (typeof endpoint !== "string") return undefined;
  const url = httpsUrl(currentAddress(endpoint), "the endpoint of a claim");
  const trusted = [deps.provider.source.issuer, deps.userInfoUrl ?? deps.provider.source.issuer];
  const isOwn = trusted.some((each) => new URL(each).origin === url.origin);
  const bearer = typeof own === "string" ? own : isOwn ? deps.accessToken : undefined;
  const isGraph = url.pathname.endsWith("/getMemberObjects");
  const response = await deps.fetch(url.href, {
    method: isGraph ? "POST" : "GET",
    headers: {
      accept: isGraph ? "application/json" : "application/jwt, application/json",
      ...(isGraph ? { "content-type": "application/json" } : {}),
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    },
    body: isGraph ? JSON.stringify({ securityEnabledOnly: false }) : undefined,
    redirect: "manual",
  });
  if (response.status !== 200) return undefined;
  const text = await response.text();
  const isToken = (response.headers.get("content-type") ?? "").startsWith("application/jwt");
  const answer = isToken ? await deps.verified(text.trim()) : parseJson(text, { maxDepth: 10 });
  return isJsonObject(answer) ? (answer[name] ?? answer["value"]) : undefined;
}

const OLD_GRAPH = "graph.windows.net";

/** Entra ID still names its retired API. */
function currentAddress(endpoint: string): string {
  if (!URL.canParse(endpoint) || new URL(endpoint).hostname !== OLD_GRAPH) return endpoint;
  const [, , ...path] = new URL(endpoint).pathname.split("/");
  return `https://graph.microsoft.com/v1.0/${path.join("/")}`;
}

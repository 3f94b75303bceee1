// The OpenID Connect client: authorization requests, code exchange, and refresh.
// Source: OpenID Connect Core 1.0, RFC 6749, RFC 7636 (PKCE), RFC 9207 (iss), RFC 9700 (best current practice)

import type { AccessKeySpec } from "@postern/api/owned-access-key";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  None,
  ResponseBodyError,
  refreshTokenGrant,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
} from "openid-client";
import { httpsUrl } from "../../../foundation/issuers/fetch-key-set.ts";
import type { IssuerKeys } from "../../../foundation/issuers/issuer-keys.ts";
import { candidateKeys, decodeToken, isSignedBy, timeError } from "../../../foundation/issuers/signed-token.ts";
import { type ClientAssertions, JWT_BEARER, usesAssertion } from "./client-assertion.ts";
import { ClientRefusals, type RefusalChannel } from "./client-refusals.ts";
import { withDistributedClaims } from "./distributed-claims.ts";
import { SignInRefusal } from "./map-claims.ts";
import { createProviderConfigurations, descriptionOf, type ProviderDescription } from "./provider-configuration.ts";
import {
  answeredBy,
  ClientRefusedError,
  faultFrom,
  NoClientSecretError,
  ProviderClockError,
  ProviderError,
  ProviderRefusal,
  said,
} from "./provider-faults.ts";
import type { ProviderFetch } from "./provider-fetch.ts";
import type { IdentityProviderState } from "./provider-state.ts";
import { createProviderSteps } from "./provider-steps.ts";
import { authenticationParameters, checkAuthentication } from "./required-authentication.ts";

/** Values sent with the browser, which its return must match. */
export type SignInChecks = {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
};

export type ProviderAnswer = {
  /** Claims of the ID token, and of the userinfo endpoint for missing ones. */
  readonly claims: JsonObject;
  /** Claims of the ID token alone. Empty where a refresh returned none. */
  readonly idToken: JsonObject;
  /** `sub` of the ID token. */
  readonly subject: string;
  /** `sid` of the ID token; "" where it has none. */
  readonly sid: string;
  /** Absent: the provider returned none. */
  readonly refreshToken: string | undefined;
  /** The client and the request that the refresh token was issued for; undefined without one, and after a refresh. */
  readonly issuedTo?: TokenClient | undefined;
};

export type ProviderClient = {
  /** The URL to redirect the browser to. Rejects with ProviderError. */
  authorizationUrl(provider: IdentityProviderState, redirectUri: string, checks: SignInChecks): Promise<string>;
  /** `answer` is the URL that the browser returned to. Rejects with ProviderRefusal and ProviderError. */
  takeCode(provider: IdentityProviderState, answer: URL, checks: SignInChecks): Promise<ProviderAnswer>;
  /** `subject` is that of the session. Rejects with ProviderRefusal and ProviderError. */
  refresh(provider: IdentityProviderState, refreshToken: string, subject: string): Promise<ProviderAnswer>;
  /** Why users cannot sign in: discovery fails, the server has nothing to authenticate with, or the provider has refused the client since its settings were changed. Undefined if they can. */
  faultOf(provider: IdentityProviderState): Promise<ProviderFault | undefined>;
  /** The discovery document, in the words of the provider. Rejects with ProviderError. */
  describe(provider: IdentityProviderState): Promise<ProviderDescription>;
  /** Calls back with the name of a provider that begins or ceases to refuse the client. */
  onChange(listener: (provider: string) => void): Disposable;
};

export type ProviderFault = {
  readonly reason: "DiscoveryFailed" | "ClientRefused" | "NoClientCredential";
  readonly message: string;
};

export type ProviderClientDeps = {
  readonly fetchFrom: ProviderFetch;
  readonly issuerKeys: Pick<IssuerKeys, "find">;
  readonly assertions: ClientAssertions;
  /** The value of a Secret; undefined without one. */
  readonly secretAt: (namespace: string, name: string, key: string) => string | undefined;
  /** To the other threads. Absent: there is one. */
  readonly refusalChannel?: RefusalChannel | undefined;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
};

/** As in `spec.oidcProvider` of an access key. */
export type TokenClient = Required<NonNullable<AccessKeySpec["oidcProvider"]>>;

/** Six times the other tokens: 500 groups of up to 128 characters fit. */
export const MAX_ID_TOKEN_LENGTH = 96 * 1024;

type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

export function createProviderClient({
  fetchFrom,
  issuerKeys,
  assertions,
  secretAt,
  refusalChannel,
  clock,
  scheduler,
}: ProviderClientDeps): ProviderClient {
  const secretOf = (provider: IdentityProviderState): string => clientSecretOf(provider, secretAt);
  const inTime = createProviderSteps(scheduler);
  const refusals = new ClientRefusals(refusalChannel);

  /** By provider, of its last request: the provider may repeat it in its error. */
  const sentAssertions = new Map<string, string>();
  const assertionOf = async (provider: IdentityProviderState, tokenEndpoint = ""): Promise<string> => {
    const assertion = await assertions.assertionFor(provider, tokenEndpoint);
    sentAssertions.set(provider.name, assertion);
    return assertion;
  };
  const authenticationOf = (provider: IdentityProviderState, secret: string): ClientAuth => {
    const { spec } = provider;
    if (usesAssertion(spec)) {
      return async ({ token_endpoint: tokenEndpoint }, { client_id: clientId }, body) => {
        body.set("client_id", clientId);
        body.set("client_assertion_type", JWT_BEARER);
        body.set("client_assertion", await assertionOf(provider, tokenEndpoint));
      };
    }
    if (spec.clientSecretRef === undefined) return None();
    return spec.clientAuthentication === "Post" ? ClientSecretPost(secret) : ClientSecretBasic(secret);
  };

  const configurationOf = createProviderConfigurations({ fetchFrom, secretOf, authenticationOf, clock });

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
      idToken: own,
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
      refusals.accepted(provider);
      return answer;
    } catch (error) {
      if (error instanceof ProviderError || error instanceof SignInRefusal) throw error;
      const secret = secretOf(provider);
      const hidden = [...secrets, secret, sentAssertions.get(provider.name) ?? ""];
      if (error instanceof ResponseBodyError && error.error === "invalid_grant")
        throw new ProviderRefusal(`the provider refused the grant: ${answeredBy(error, hidden)}`, { cause: error });
      const fault = faultFrom(error, "its response is not valid", hidden);
      if (fault instanceof ClientRefusedError) refusals.refused(provider, secret, fault.message);
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
        ...authenticationParameters(provider.spec),
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
        checkAuthentication(provider.spec, taken.idToken, clock.now());
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
      let tokenEndpoint: string | undefined;
      try {
        const configuration = await inTime(provider, () => configurationOf(provider));
        tokenEndpoint = configuration.serverMetadata().token_endpoint;
      } catch (error) {
        return {
          reason: error instanceof NoClientSecretError ? "NoClientCredential" : "DiscoveryFailed",
          message: error instanceof Error ? error.message : String(error),
        };
      }
      try {
        if (usesAssertion(provider.spec)) await assertions.assertionFor(provider, tokenEndpoint ?? "");
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        return { reason: "NoClientCredential", message: error.message };
      }
      const message = refusals.messageOf(provider, secretOf(provider));
      return message === undefined ? undefined : { reason: "ClientRefused", message };
    },
    describe: (provider) => inTime(provider, async () => descriptionOf(await configurationOf(provider))),
    onChange: (listener) => refusals.onChange(listener),
  };
}

function clientSecretOf(
  { spec: { clientSecretRef: reference } }: IdentityProviderState,
  secretAt: ProviderClientDeps["secretAt"],
): string {
  if (reference === undefined) return "";
  const { secretNamespace, secretName, key = "clientSecret" } = reference;
  // Files and editors often add an invisible line break at the end.
  const secret = secretAt(secretNamespace, secretName, key)?.trim();
  if (secret === undefined || secret === "")
    throw new NoClientSecretError(
      `the Secret ${secretNamespace}/${secretName} does not exist, or has no value at the key ${JSON.stringify(key)}`,
    );
  return secret;
}

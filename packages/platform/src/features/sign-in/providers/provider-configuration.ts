// The discovery document of a provider, fetched again after a while and for new settings.
// Source: OpenID Connect Discovery 1.0

import type { Clock } from "@postern/apiserver/runtime/clock";
import { type ClientAuth, Configuration, clockTolerance, customFetch, discovery } from "openid-client";
import { discoveryUrlOf } from "../../../foundation/issuers/fetch-key-set.ts";
import { faultFrom, ProviderError, said } from "./provider-faults.ts";
import type { ProviderFetch } from "./provider-fetch.ts";
import type { IdentityProviderState } from "./provider-state.ts";

export type ProviderDescription = {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly userInfoEndpoint: string;
  readonly jwksURI: string;
  readonly scopes: readonly string[];
  readonly claims: readonly string[];
  readonly clientAuthentication: readonly string[];
};

const CONFIGURATION_MS = 10 * 60_000;
const TOLERANCE_SECONDS = 30;

type Known = {
  readonly terms: string;
  readonly secret: string;
  readonly until: number;
  readonly made: Promise<Configuration>;
};

/** The returned function rejects with ProviderError. */
export function createProviderConfigurations(deps: {
  readonly fetchFrom: ProviderFetch;
  /** "" for a client without one. Throws ProviderError for a Secret that is missing. */
  readonly secretOf: (provider: IdentityProviderState) => string;
  readonly authenticationOf: (provider: IdentityProviderState, secret: string) => ClientAuth;
  readonly clock: Clock;
}): (provider: IdentityProviderState) => Promise<Configuration> {
  const { fetchFrom, secretOf, authenticationOf, clock } = deps;
  const known = new Map<string, Known>();
  return async (provider) => {
    const { name, terms } = provider;
    const secret = secretOf(provider);
    const before = known.get(name);
    const isCurrent = before?.terms === terms && before.secret === secret && before.until > clock.elapsed();
    if (isCurrent) return await before.made;
    // All waiting callers get the same message.
    const made = discover(provider, authenticationOf(provider, secret), fetchFrom).catch((error: unknown) => {
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
}

async function discover(
  provider: IdentityProviderState,
  authentication: ClientAuth,
  fetchFrom: ProviderFetch,
): Promise<Configuration> {
  const { source, spec } = provider;
  const fetch = fetchFrom(source);
  const options = { algorithm: "oidc", [customFetch]: fetch } as const;
  const found = await discovery(discoveryUrlOf(source), spec.clientId, {}, authentication, options);
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
    authentication,
  );
  configuration[customFetch] = fetch;
  return configuration;
}

/** Entries shown of a list that the provider makes. */
const MAX_DESCRIBED = 50;

export function descriptionOf(configuration: Configuration): ProviderDescription {
  const metadata = configuration.serverMetadata();
  const text = (value: unknown): string => (typeof value === "string" ? said(value) : "");
  const texts = (value: unknown): readonly string[] =>
    Array.isArray(value) ? value.slice(0, MAX_DESCRIBED).map(text) : [];
  return {
    authorizationEndpoint: text(metadata.authorization_endpoint),
    tokenEndpoint: text(metadata.token_endpoint),
    userInfoEndpoint: text(metadata.userinfo_endpoint),
    jwksURI: text(metadata.jwks_uri),
    scopes: texts(metadata.scopes_supported),
    claims: texts(metadata["claims_supported"]),
    clientAuthentication: texts(metadata.token_endpoint_auth_methods_supported),
  };
}

// An identity provider as the server keeps it in memory.

import {
  DEFAULT_REFRESH_SECONDS,
  DEFAULT_SCOPES,
  DEFAULT_SESSION_SECONDS,
  DEFAULT_STALE_SECONDS,
  type IdentityProvider,
  type IdentityProviderSpec,
} from "@postern/api/identity-provider";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { IssuerSource } from "../../../foundation/issuers/issuer-source.ts";
import { digestOf, digestOfSpec } from "../../../foundation/issuers/terms-digest.ts";
import { type CompiledClaims, compileClaims } from "./map-claims.ts";

export type IdentityProviderState = {
  readonly name: string;
  readonly uid: string;
  readonly title: string;
  /** Disabled or being deleted. */
  readonly isOff: boolean;
  /** The source of its keys. */
  readonly source: IssuerSource;
  readonly spec: IdentityProviderSpec;
  readonly claims: CompiledClaims;
  readonly scopes: readonly string[];
  readonly sessionSeconds: number;
  readonly refreshSeconds: number;
  readonly staleSeconds: number;
  /** Digest of the provider's identity: sessions with another digest are invalid. */
  readonly identity: string;
  /** Digest of all fields that affect decisions. */
  readonly terms: string;
};

export const IDENTITY_PROVIDERS = "identityproviders";
export const PROVIDER_PREFIX = `${IDENTITY_PROVIDERS}/`;
/** The name in keys that it issued. */
export const providerId = (name: string): string => `${PROVIDER_PREFIX}${name}`;

/** Throws CelSyntaxError, which validation prevents. */
export function readProvider(object: CachedObject): IdentityProviderState {
  // The store holds no other kind under this resource.
  const { metadata, spec } = object.decode() as IdentityProvider;
  const { issuer, clientId, disabled = false, displayName = "" } = spec;
  const { name = "", uid = "" } = metadata;
  const place = [issuer.url, issuer.discoveryURL, issuer.certificateAuthority];
  return {
    name,
    uid,
    title: displayName === "" ? name : displayName,
    isOff: disabled || isBeingDeleted({ metadata }),
    source: {
      id: digestOf(JSON.stringify(["provider", ...place])),
      issuer: issuer.url,
      discoveryURL: issuer.discoveryURL,
      certificateAuthorityPem: issuer.certificateAuthority,
      jwks: undefined,
      isTenants: false,
    },
    spec,
    claims: compileClaims(spec),
    scopes: [...new Set(["openid", ...(spec.scopes ?? DEFAULT_SCOPES)])],
    sessionSeconds: spec.sessionTTL ?? DEFAULT_SESSION_SECONDS,
    refreshSeconds: spec.refreshInterval ?? DEFAULT_REFRESH_SECONDS,
    staleSeconds: spec.staleAfter ?? DEFAULT_STALE_SECONDS,
    identity: digestOf(JSON.stringify([issuer.url, clientId])),
    terms: termsOfProvider(spec),
  };
}

/** Everything except texts for people. */
export const termsOfProvider = ({ displayName: _, description: __, ...spec }: IdentityProviderSpec): string =>
  digestOfSpec(spec);

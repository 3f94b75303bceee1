// The access keys of people who signed in: what a session is, kept with the refresh token by which the provider is asked again.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { IssuedGrant } from "../access-keys/issued-grants.ts";
import type { AccessKeySpec } from "../api/owned-access-key.ts";
import type { MappedIdentity } from "./map-claims.ts";
import { type IdentityProviderState, providerId } from "./provider-state.ts";

/** Somebody who has signed in at a provider, and is a user here. */
export type SignedIn = {
  readonly user: string;
  readonly identity: MappedIdentity;
  /** `sub` and `sid` of the provider's tokens. */
  readonly sub: string;
  readonly sid: string;
  readonly refreshToken: string | undefined;
};

export type LoginKey = {
  readonly value: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
};

export type MintLogin = (provider: IdentityProviderState, signedIn: SignedIn, on: string) => Promise<LoginKey>;

/** Makes a key that something gives. */
type MintGranted = (
  object: { readonly metadata: KubeObject["metadata"]; readonly spec: AccessKeySpec },
  issued: IssuedGrant,
  signal: AbortSignal,
) => Promise<{ readonly key: string; readonly expiresAt: number | undefined }>;

/** `on` of the result's third argument says where the session is, for people. */
export const createMintLogin =
  (mint: { readonly mintGranted: MintGranted }, clock: Clock, signal: AbortSignal): MintLogin =>
  async (provider, { user, identity, sub, sid, refreshToken }, on) => {
    const { name, uid, title, identity: terms, sessionSeconds, spec, source } = provider;
    const until = clock.now() + sessionSeconds * 1000;
    const { inactivityTTL } = spec;
    const { key, expiresAt = until } = await mint.mintGranted(
      {
        metadata: { generateName: "login-" },
        spec: {
          displayName: `${on}, by ${title}`,
          user,
          type: "Login",
          ttl: Math.min(inactivityTTL ?? sessionSeconds, sessionSeconds),
          ...(inactivityTTL === undefined ? {} : { ttlAfterLastActivity: true }),
          identity: identityFields(provider, identity, refreshToken, clock.now()),
        },
      },
      {
        grant: { rule: providerId(name), ruleUid: uid, terms, until, login: { subject: identity.subject, sub, sid } },
        origins: [],
        parents: [],
        issuedBy: { rule: providerId(name), issuer: source.issuer, subject: sub, claims: {} },
      },
      signal,
    );
    return { value: key, expiresAt: Math.min(expiresAt, until) };
  };

/** What `spec.identity` of a login key says. */
export const identityFields = (
  { name }: IdentityProviderState,
  { subject, username, displayName, email, emailVerified, groups, extra }: MappedIdentity,
  refreshToken: string | undefined,
  now: number,
): NonNullable<AccessKeySpec["identity"]> => ({
  userId: subject,
  username,
  ...(displayName === "" ? {} : { preferredUsername: displayName }),
  ...(email === "" ? {} : { email, emailVerified }),
  ...(Object.keys(extra).length === 0 ? {} : { extraClaims: { ...extra } }),
  ...(groups.length === 0 ? {} : { groups: [...groups] }),
  connector: name,
  ...(refreshToken === undefined
    ? {}
    : { connectorData: Buffer.from(JSON.stringify({ refreshToken })).toString("base64") }),
  identityRefresh: formatTimestamp(now),
});

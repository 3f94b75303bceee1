// The access keys of login sessions, stored with the refresh token of the provider.

import type { AccessKeySpec } from "@postern/api/owned-access-key";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { Foundation } from "../../../foundation/foundation.ts";
import { specOf } from "../../access-keys/chosen-values/secret-fields.ts";
import type { AccessKeyIndex } from "../../access-keys/index/access-key-index.ts";
import type { IssuedGrant } from "../../access-keys/issued-grants.ts";
import { originsOf } from "../../access-keys/key-origins.ts";
import { type Confirmation, confirmationSpec } from "../../access-keys/proofs/proof-of-possession.ts";
import type { Directory } from "../../directory/directory.ts";
import { type MappedIdentity, SignInRefusal } from "../providers/map-claims.ts";
import { type IdentityProviderState, providerId } from "../providers/provider-state.ts";

/** A user who has signed in at a provider. */
export type SignedIn = {
  readonly user: string;
  readonly identity: MappedIdentity;
  /** `sub` and `sid` of the provider's tokens. */
  readonly sub: string;
  readonly sid: string;
  readonly refreshToken: string | undefined;
  /** Undefined without a refresh token. */
  readonly issuedTo?: AccessKeySpec["oidcProvider"] | undefined;
};

export type LoginKey = {
  readonly value: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
};

export type MintLogin = (
  provider: IdentityProviderState,
  signedIn: SignedIn,
  on: string,
  bond?: Confirmation,
) => Promise<LoginKey>;

/** Creates a key for a grant. */
type MintGranted = (
  object: { readonly metadata: KubeObject["metadata"]; readonly spec: AccessKeySpec },
  issued: IssuedGrant,
  signal: AbortSignal,
) => Promise<{ readonly key: string; readonly expiresAt: number | undefined }>;

/** The third argument, `on`, describes the place of the session for users. */
export const createMintLogin =
  (mint: { readonly mintGranted: MintGranted }, clock: Clock, signal: AbortSignal): MintLogin =>
  async (provider, { user, identity, sub, sid, refreshToken, issuedTo }, on, bond) => {
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
          ...(refreshToken === undefined || issuedTo === undefined ? {} : { oidcProvider: issuedTo }),
          ...(bond === undefined ? {} : { confirmation: confirmationSpec(bond) }),
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

/** A session for the holder of a key. Rejects with SignInRefusal. */
export type MintChild = (presented: string, on: string) => Promise<LoginKey>;

/** TTL of a session that starts with an access key. */
const KEY_SESSION_SECONDS = 12 * 60 * 60;

/** The session is a child of the key: it has the same owner, groups, scope and rules, and becomes invalid with it. */
export const createMintChild =
  (
    { runtime: { clock }, signal }: Foundation,
    mint: { readonly mintGranted: MintGranted },
    { index: keys, records }: { readonly index: AccessKeyIndex; readonly records: ViewPrefix },
    directory: Directory,
  ): MintChild =>
  async (presented, on) => {
    const parent = keys.find(presented);
    const record = parent && records.view.get(records.prefix + parent.name)?.decode();
    if (parent === undefined || record === undefined || keys.refusalOf(parent) !== undefined)
      throw new SignInRefusal("the access key is not valid", { isUnknown: true });
    if (parent.maxUses !== undefined) throw new SignInRefusal("a key with spec.maxUses begins no session");
    const { owner, id, uid, name, expiresAt: end = Number.POSITIVE_INFINITY } = parent;
    if (owner.kind === "user" && directory.user(owner.name)?.isBot === true)
      throw new SignInRefusal("a bot cannot sign in");
    // Written through the resource, so that it is checked like any other key.
    const { groups, scope, rules } = specOf(record) as AccessKeySpec;
    const left = Math.floor((end - clock.now()) / 1000);
    const ttl = Math.max(1, Math.min(KEY_SESSION_SECONDS, left));
    const { key, expiresAt = clock.now() + ttl * 1000 } = await mint.mintGranted(
      {
        metadata: { generateName: "login-" },
        spec: {
          displayName: `${on}, by access key ${name}`,
          [owner.kind]: owner.name,
          type: "Login",
          ttl,
          ...(groups === undefined ? {} : { groups }),
          ...(scope === undefined ? {} : { scope }),
          ...(rules === undefined ? {} : { rules }),
        },
      },
      { origins: originsOf({ credential: { id } }, keys), parents: [uid] },
      signal,
    );
    return { value: key, expiresAt: Math.min(expiresAt, end) };
  };

/** `spec.identity` of a login key. */
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

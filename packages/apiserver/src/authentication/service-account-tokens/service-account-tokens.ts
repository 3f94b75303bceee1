// Tokens of ServiceAccounts: what is in one, whom it makes its bearer, and when that ends.
// Source: k8s.io/kubernetes/pkg/serviceaccount/{claims.go,jwt.go}

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { stringsOf } from "../../authorization/rbac/policy-rule.ts";
import { followView, type ViewPrefix } from "../../cache/follow-view.ts";
import type { ResourceKeys } from "../../registry/resource-keys.ts";
import { newUid } from "../../registry/store/object-meta.ts";
import type { Runtime } from "../../runtime/clock.ts";
import type { Authentication } from "../authenticator.ts";
import { type RevocationWatch, untilEnd, untilFirst, untilOver } from "../credential-end.ts";
import { serviceAccountGroups, serviceAccountUsername } from "../service-account.ts";
import type { TokenAuthenticator } from "../token-authenticator.ts";
import type { UserInfo } from "../user-info.ts";
import { decodeSegment, openToken, signToken } from "./json-web-token.ts";
import { readSecretToken, SECRET_TOKEN_ISSUER, type SecretToken, secretTokenClaims, tokenIn } from "./secret-token.ts";
import type { ServiceAccountKey } from "./service-account-key.ts";

/** The audience of the cluster itself, and who its tokens say has issued them. */
export const SERVICE_ACCOUNT_ISSUER = "https://kubernetes.default.svc.cluster.local";

/** An object by name that has to be the same one still. */
export type ObjectIdentity = { readonly name: string; readonly uid: string };

export type ServiceAccountTokenRequest = {
  readonly namespace: string;
  readonly account: ObjectIdentity;
  /** The token ends with this Secret of the same namespace. */
  readonly secret: ObjectIdentity | undefined;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
};

/** `expiresAt` in milliseconds since the epoch. */
export type IssuedToken = { readonly token: string; readonly expiresAt: number };

export type ServiceAccountTokens = TokenAuthenticator & {
  issue(request: ServiceAccountTokenRequest): IssuedToken;
  /** A token without an end of its own. It is good once the Secret holds it. */
  issueForSecret(token: SecretToken): string;
};

export type ServiceAccountTokensOptions = {
  readonly key: ServiceAccountKey;
  readonly accounts: TokenSubjects;
  readonly secrets: TokenSubjects;
  readonly runtime: Runtime;
};

/** Where the objects are that tokens are bound to. */
export type TokenSubjects = { readonly view: ViewPrefix["view"]; readonly keys: ResourceKeys };

/** The private claim, under the name that Kubernetes gives it. */
const PRIVATE_CLAIM = "kubernetes.io";
const EXTRA_CREDENTIAL_ID = "authentication.kubernetes.io/credential-id";
/** What the id of a credential begins with that is such a token. */
export const SERVICE_ACCOUNT_CREDENTIAL = "serviceaccount:";

export function createServiceAccountTokens(options: ServiceAccountTokensOptions): ServiceAccountTokens {
  const { key, accounts, secrets, runtime } = options;
  const { clock, random, scheduler } = runtime;

  const isThere = ({ view, keys }: TokenSubjects, namespace: string, { name, uid }: ObjectIdentity): boolean => {
    const object = view.get(keys.of(namespace, name))?.decode();
    return object !== undefined && object.metadata.uid === uid && !isBeingDeleted(object);
  };

  const isGone = ({ namespace, account, secret }: TokenClaims): boolean =>
    !isThere(accounts, namespace, account) || (secret !== undefined && !isThere(secrets, namespace, secret));

  const watchOf = (claims: TokenClaims): RevocationWatch => {
    const { namespace, account, secret, expiresAt } = claims;
    const untilGone = (subjects: TokenSubjects, { name }: ObjectIdentity): RevocationWatch =>
      untilOver(
        () => isGone(claims),
        (listener) => onChangeOf(subjects, namespace, name, listener),
      );
    return untilFirst([
      untilEnd(expiresAt, runtime),
      untilGone(accounts, account),
      ...(secret === undefined ? [] : [untilGone(secrets, secret)]),
    ]);
  };

  /** The Secret that makes a token good; undefined where it does not any more. */
  const holderOf = (token: string, { namespace, secretName, account }: SecretToken): KubeObject | undefined => {
    const secret = secrets.view.get(secrets.keys.of(namespace, secretName))?.decode();
    const isHeld = secret !== undefined && !isBeingDeleted(secret) && tokenIn(secret) === token;
    return isHeld && isThere(accounts, namespace, account) ? secret : undefined;
  };

  function authenticateSecretToken(token: string, content: JsonObject, audiences: readonly string[]) {
    const claims = readSecretToken(content);
    if (claims === undefined || !audiences.includes(SERVICE_ACCOUNT_ISSUER)) throw unauthorizedError();
    const holder = holderOf(token, claims);
    if (holder === undefined) throw unauthorizedError();
    const { namespace, account, secretName } = claims;
    const changed = (subjects: TokenSubjects, name: string): RevocationWatch =>
      untilOver(
        () => holderOf(token, claims) === undefined,
        (listener) => onChangeOf(subjects, namespace, name, listener),
      );
    const id = `${SERVICE_ACCOUNT_CREDENTIAL}secret:${holder.metadata.uid ?? ""}`;
    return {
      user: userOf(namespace, account),
      credential: { id, onRevoked: untilFirst([changed(accounts, account.name), changed(secrets, secretName)]) },
      audiences: [SERVICE_ACCOUNT_ISSUER],
    };
  }

  function onChangeOf({ view, keys }: TokenSubjects, namespace: string, name: string, listener: () => void) {
    const wanted = keys.of(namespace, name);
    const tell = (object: { readonly key: string }): void => {
      if (object.key === wanted) listener();
    };
    return followView({ view, prefix: wanted }, scheduler, { replace: listener, put: tell, delete: tell });
  }

  return {
    issue({ namespace, account, secret, audiences, expirationSeconds }) {
      const issuedAt = Math.floor(clock.now() / 1000);
      const expiresAt = issuedAt + expirationSeconds;
      const claims = {
        aud: [...audiences],
        exp: expiresAt,
        iat: issuedAt,
        iss: SERVICE_ACCOUNT_ISSUER,
        jti: newUid(random),
        [PRIVATE_CLAIM]: {
          namespace,
          serviceaccount: { ...account },
          ...(secret === undefined ? {} : { secret: { ...secret } }),
        },
        nbf: issuedAt,
        sub: serviceAccountUsername(namespace, account.name),
      };
      return { token: signToken(claims, key), expiresAt: expiresAt * 1000 };
    },

    issueForSecret: (token) => signToken(secretTokenClaims(token), key),

    authenticateToken(token, audiences = [SERVICE_ACCOUNT_ISSUER]) {
      const content = openToken(token, key);
      if (content === undefined) return undefined;
      if (content["iss"] === SECRET_TOKEN_ISSUER) return authenticateSecretToken(token, content, audiences);
      const claims = readClaims(content);
      const now = clock.now();
      if (claims === undefined || now < claims.notBefore || now >= claims.expiresAt) throw unauthorizedError();
      const common = audiences.filter((audience) => claims.audiences.includes(audience));
      if (common.length === 0 || isGone(claims)) throw unauthorizedError();
      return { ...authenticationOf(claims, watchOf(claims)), audiences: common };
    },
  };
}

/** Cheap, and no proof: tells tokens of this kind from those of others before the key that they name is at hand. */
export function looksLikeServiceAccountToken(token: string): boolean {
  const [, payload = "", signature] = token.split(".", 3);
  return signature !== undefined && ISSUERS.includes(decodeSegment(payload)?.["iss"] ?? "");
}

const ISSUERS: readonly JsonValue[] = [SERVICE_ACCOUNT_ISSUER, SECRET_TOKEN_ISSUER];

type TokenClaims = {
  readonly id: string;
  readonly namespace: string;
  readonly account: ObjectIdentity;
  readonly secret: ObjectIdentity | undefined;
  readonly audiences: readonly string[];
  /** Milliseconds since the epoch, as all times from here on. */
  readonly notBefore: number;
  readonly expiresAt: number;
};

/** What we signed is what we wrote, unless another version of us wrote it: nothing is taken for granted. */
function readClaims(content: JsonObject): TokenClaims | undefined {
  const bound = content[PRIVATE_CLAIM];
  if (!isJsonObject(bound) || content["iss"] !== SERVICE_ACCOUNT_ISSUER) return undefined;
  const { jti, exp, nbf, sub } = content;
  const { namespace } = bound;
  const account = readIdentity(bound["serviceaccount"]);
  const secret = readIdentity(bound["secret"]);
  if (typeof jti !== "string" || typeof namespace !== "string" || account === undefined) return undefined;
  if (typeof exp !== "number" || typeof nbf !== "number") return undefined;
  if (sub !== serviceAccountUsername(namespace, account.name)) return undefined;
  if (bound["secret"] !== undefined && secret === undefined) return undefined;
  const audiences = stringsOf(content["aud"]);
  return { id: jti, namespace, account, secret, audiences, notBefore: nbf * 1000, expiresAt: exp * 1000 };
}

function readIdentity(value: JsonValue | undefined): ObjectIdentity | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, uid } = value;
  return typeof name === "string" && typeof uid === "string" && uid !== "" ? { name, uid } : undefined;
}

const userOf = (namespace: string, { name, uid }: ObjectIdentity): UserInfo => ({
  name: serviceAccountUsername(namespace, name),
  uid,
  groups: serviceAccountGroups(namespace),
});

const authenticationOf = ({ id, namespace, account }: TokenClaims, onRevoked: RevocationWatch): Authentication => ({
  user: { ...userOf(namespace, account), extra: { [EXTRA_CREDENTIAL_ID]: [`JTI=${id}`] } },
  credential: { id: `${SERVICE_ACCOUNT_CREDENTIAL}${id}`, onRevoked },
});

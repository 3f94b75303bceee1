// ServiceAccount tokens: issuing, authentication, and revocation.
// Source: k8s.io/kubernetes/pkg/serviceaccount/jwt.go

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { ApiError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  type Authentication,
  type Credential,
  CredentialRefusedError,
} from "@postern/apiserver/authentication/authenticator";
import type { CredentialLineage, LineageVerifier } from "@postern/apiserver/authentication/credential-lineage";
import {
  type RevocationWatch,
  watchExpiry,
  watchFirst,
  watchRevocation,
} from "@postern/apiserver/authentication/revocation-watch";
import { serviceAccountGroups, serviceAccountUsername } from "@postern/apiserver/authentication/service-account";
import type { TokenAuthenticator } from "@postern/apiserver/authentication/token-authenticator";
import { EXTRA_CREDENTIAL_ID, type UserInfo } from "@postern/apiserver/authentication/user-info";
import { type Awaitable, whenDone } from "@postern/apiserver/runtime/awaitable";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { type ClockEpochs, sharedEpochsOf } from "@postern/apiserver/runtime/clock-epochs";
import { newUid } from "@postern/apiserver/runtime/new-uid";
import {
  type BoundObject,
  type BoundToken,
  boundTokenClaims,
  readBoundToken,
  SERVICE_ACCOUNT_ISSUER,
} from "./bound-token.ts";
import { decodeSegment, keyIdOfToken, openToken, signToken } from "./json-web-token.ts";
import { readSecretToken, SECRET_TOKEN_ISSUER, type SecretToken, secretTokenClaims, tokenIn } from "./secret-token.ts";
import type { ServiceAccountKey, ServiceAccountKeys } from "./service-account-key.ts";
import {
  findSubject,
  isPodThere,
  isThere,
  type ObjectIdentity,
  type TokenObjects,
  type TokenSubjects,
  untilChanged,
  untilPodChanged,
} from "./token-subjects.ts";

export type ServiceAccountTokenRequest = Pick<
  BoundToken,
  "namespace" | "account" | "boundTo" | "nodeOfPod" | "audiences" | "lineage"
> & {
  readonly expirationSeconds: number;
};

/** `expiresAt` in milliseconds since the epoch. */
export type IssuedToken = { readonly token: string; readonly expiresAt: number };

export type ServiceAccountTokens = TokenAuthenticator & {
  issue(request: ServiceAccountTokenRequest): IssuedToken;
  /** A token that never expires. It is valid once the Secret contains it. */
  issueForSecret(token: SecretToken): string;
  /** Whether a text looks like a token of a key that is not accepted any more; no signature is looked at. */
  isOutdated(token: string): boolean;
  /** Calls back when the keys are others. */
  onKeysChange(listener: () => void): Disposable;
};

export type ServiceAccountTokensDeps = {
  readonly keys: ServiceAccountKeys;
  readonly objects: TokenObjects;
  readonly runtime: Runtime;
  /** Asked at every use of a token that goes back to another credential. Absent: no token does. */
  readonly lineages?: LineageVerifier | undefined;
};

/** Prefix of the id of a credential that is such a token. */
export const SERVICE_ACCOUNT_CREDENTIAL = "serviceaccount:";

export function createServiceAccountTokens(deps: ServiceAccountTokensDeps): ServiceAccountTokens {
  const { keys, runtime } = deps;
  const epochs = sharedEpochsOf(runtime.clock);
  const keyOf = (token: string): ServiceAccountKey | undefined => {
    const named = keyIdOfToken(token);
    return keys.current.find(({ id }) => id === named);
  };
  return {
    issue({ expirationSeconds, ...bound }) {
      const notBefore = Math.floor(runtime.clock.now() / 1000);
      const expiresAt = notBefore + expirationSeconds;
      const claims = boundTokenClaims({ ...bound, id: newUid(runtime.random), notBefore, expiresAt });
      return { token: signToken(claims, keys.current[0]), expiresAt: expiresAt * 1000 };
    },

    issueForSecret: (token) => signToken(secretTokenClaims(token), keys.current[0]),
    isOutdated: (token) => looksLikeServiceAccountToken(token) && keyOf(token) === undefined,
    onKeysChange: (listener) => keys.onChange(listener),

    authenticateToken(token, audiences = [SERVICE_ACCOUNT_ISSUER]) {
      const key = keyOf(token);
      const claims = key && openToken(token, key);
      if (key === undefined || claims === undefined) return undefined;
      const isKeyGone = (): boolean => !keys.current.some(({ id }) => id === key.id);
      const untilKeyGoes = watchRevocation(isKeyGone, (listener) => keys.onChange(listener));
      return claims["iss"] === SECRET_TOKEN_ISSUER
        ? authenticateSecretToken(deps, token, claims, audiences, untilKeyGoes)
        : authenticateBoundToken(deps, epochs, claims, audiences, untilKeyGoes);
    },
  };
}

/** Throws ApiError 401. */
function authenticateBoundToken(
  deps: ServiceAccountTokensDeps,
  epochs: ClockEpochs,
  claims: JsonObject,
  audiences: readonly string[],
  untilKeyGoes: RevocationWatch,
): Awaitable<Authentication> {
  const { objects, runtime } = deps;
  const { accounts } = objects;
  const bound = readBoundToken(claims);
  if (bound === undefined) throw unauthorizedError();
  const { id, namespace, account, boundTo } = bound;
  const from = bound.notBefore * 1000;
  if (runtime.clock.now() < from || epochs.latestSince(from) >= bound.expiresAt * 1000) throw unauthorizedError();
  const common = audiences.filter((audience) => bound.audiences.includes(audience));
  const isOver = (): boolean =>
    !isThere(accounts, namespace, account) ||
    (boundTo !== undefined && !isBoundObjectThere(objects, namespace, boundTo, epochs.latestSince(from)));
  if (common.length === 0 || isOver()) throw unauthorizedError();
  const credentialId = `${SERVICE_ACCOUNT_CREDENTIAL}${id}`;
  const untilGone = (subjects: TokenSubjects, { name }: ObjectIdentity) =>
    subjects === objects.bound.pod
      ? untilPodChanged(subjects, runtime, { namespace, name }, isOver)
      : untilChanged(subjects, runtime.scheduler, { namespace, name }, isOver);
  return whenDone(checkLineage(bound.lineage, credentialId, deps), (descent) => {
    // It may have ended while its ancestors were looked at.
    if (isOver()) throw unauthorizedError();
    const onRevoked = watchFirst([
      watchExpiry(bound.expiresAt * 1000, runtime),
      untilKeyGoes,
      untilGone(accounts, account),
      ...(boundTo === undefined ? [] : [untilGone(objects.bound[boundTo.kind], boundTo)]),
      ...descent.watches,
    ]);
    return {
      user: { ...userOf(namespace, account), extra: extraOf(bound) },
      credential: { ...descent.credential, id: credentialId, onRevoked },
      audiences: common,
    };
  });
}

const isBoundObjectThere = (
  { bound }: TokenObjects,
  namespace: string,
  { kind, ...identity }: BoundObject,
  now: number,
): boolean =>
  kind === "pod" ? isPodThere(bound.pod, namespace, identity, now) : isThere(bound[kind], namespace, identity);

/** Source: k8s.io/apiserver/pkg/authentication/serviceaccount/util.go, UserInfo */
function extraOf({ id, boundTo, nodeOfPod }: BoundToken): NonNullable<UserInfo["extra"]> {
  const node = boundTo?.kind === "node" ? boundTo : nodeOfPod;
  return {
    [EXTRA_CREDENTIAL_ID]: [`JTI=${id}`],
    ...(boundTo?.kind === "pod" ? { [POD_NAME]: [boundTo.name], [POD_UID]: [boundTo.uid] } : {}),
    ...(node === undefined ? {} : { [NODE_NAME]: [node.name] }),
    ...(node?.uid === undefined ? {} : { [NODE_UID]: [node.uid] }),
  };
}

const POD_NAME = "authentication.kubernetes.io/pod-name";
const POD_UID = "authentication.kubernetes.io/pod-uid";
const NODE_NAME = "authentication.kubernetes.io/node-name";
const NODE_UID = "authentication.kubernetes.io/node-uid";

/** Throws ApiError 401. */
function authenticateSecretToken(
  deps: ServiceAccountTokensDeps,
  token: string,
  claims: JsonObject,
  audiences: readonly string[],
  untilKeyGoes: RevocationWatch,
): Awaitable<Authentication> {
  const { objects, runtime } = deps;
  const { accounts, bound } = objects;
  const content = readSecretToken(claims);
  if (content === undefined || !audiences.includes(SERVICE_ACCOUNT_ISSUER)) throw unauthorizedError();
  const holder = holderOf(token, content, deps);
  if (holder === undefined) throw unauthorizedError();
  const { namespace, account, secretName, lineage } = content;
  const credentialId = `${SERVICE_ACCOUNT_CREDENTIAL}secret:${holder.metadata.uid ?? ""}`;
  const isOver = (): boolean => holderOf(token, content, deps) === undefined;
  return whenDone(checkLineage(lineage, credentialId, deps), (descent) => {
    if (isOver()) throw unauthorizedError();
    const onRevoked = watchFirst([
      untilKeyGoes,
      untilChanged(accounts, runtime.scheduler, { namespace, name: account.name }, isOver),
      untilChanged(bound.secret, runtime.scheduler, { namespace, name: secretName }, isOver),
      ...descent.watches,
    ]);
    return {
      user: userOf(namespace, account),
      credential: { ...descent.credential, id: credentialId, onRevoked },
      audiences: [SERVICE_ACCOUNT_ISSUER],
    };
  });
}

type Descent = {
  readonly credential: Pick<Credential, "lineage" | "annotations">;
  readonly watches: readonly RevocationWatch[];
};

/** Throws ApiError 401 for a token whose ancestor credential is no longer valid. */
function checkLineage(
  lineage: CredentialLineage | undefined,
  credentialId: string,
  { lineages }: ServiceAccountTokensDeps,
): Awaitable<Descent> {
  if (lineage === undefined || lineages === undefined) return { credential: {}, watches: [] };
  return whenDone(lineages.judge(lineage), ({ refusal, annotations }) => {
    if (refusal !== undefined) throw refusedError(refusal, credentialId, annotations);
    return {
      credential: { lineage: () => lineage, annotations },
      watches: [(listener) => lineages.onRevoked(lineage, listener)],
    };
  });
}

const refusedError = (...refusal: ConstructorParameters<typeof CredentialRefusedError>): ApiError => {
  const { code, reason, message } = unauthorizedError();
  return new ApiError({ code, reason, message, cause: new CredentialRefusedError(...refusal) });
};

/** The Secret that contains the token; undefined if it no longer does. */
function holderOf(
  token: string,
  { namespace, secretName, account }: SecretToken,
  { objects: { accounts, bound } }: ServiceAccountTokensDeps,
): KubeObject | undefined {
  const secret = findSubject(bound.secret, namespace, secretName);
  return tokenIn(secret) === token && isThere(accounts, namespace, account) ? secret : undefined;
}

/** A cheap check without proof: whether a token is of this kind, before its key is looked up. */
export function looksLikeServiceAccountToken(token: string): boolean {
  const [, payload = "", signature] = token.split(".", 3);
  return signature !== undefined && ISSUERS.includes(decodeSegment(payload)?.["iss"] ?? "");
}

const ISSUERS: readonly JsonValue[] = [SERVICE_ACCOUNT_ISSUER, SECRET_TOKEN_ISSUER];

const userOf = (namespace: string, { name, uid }: ObjectIdentity): UserInfo => ({
  name: serviceAccountUsername(namespace, name),
  uid,
  groups: serviceAccountGroups(namespace),
});

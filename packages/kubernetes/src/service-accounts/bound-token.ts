// Expiring tokens that are bound to a ServiceAccount, and optionally to a Secret: claims, written and read.
// Source: k8s.io/kubernetes/pkg/serviceaccount/claims.go

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { CredentialLineage } from "@postern/apiserver/authentication/credential-lineage";
import { serviceAccountUsername } from "@postern/apiserver/authentication/service-account";
import { stringsOf } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { ObjectIdentity } from "./token-subjects.ts";

/** The audience and the issuer of the cluster's own tokens. */
export const SERVICE_ACCOUNT_ISSUER = "https://kubernetes.default.svc.cluster.local";

/** The private claim, under the name that Kubernetes gives it. */
const PRIVATE_CLAIM = "kubernetes.io";
/** Claim for the lineage that the token goes back to, in both kinds of token. */
export const LINEAGE_CLAIM = "lineage";

export type BoundToken = {
  readonly id: string;
  readonly namespace: string;
  readonly account: ObjectIdentity;
  /** The token ends with this Secret of the same namespace. */
  readonly secret: ObjectIdentity | undefined;
  readonly audiences: readonly string[];
  readonly lineage?: CredentialLineage | undefined;
  /** In seconds since the epoch, as claims have it. */
  readonly notBefore: number;
  readonly expiresAt: number;
};

export const boundTokenClaims = (token: BoundToken): JsonObject => {
  const { id, namespace, account, secret, audiences, lineage, notBefore, expiresAt } = token;
  return {
    aud: [...audiences],
    exp: expiresAt,
    iat: notBefore,
    iss: SERVICE_ACCOUNT_ISSUER,
    jti: id,
    [PRIVATE_CLAIM]: {
      namespace,
      serviceaccount: { ...account },
      ...(secret === undefined ? {} : { secret: { ...secret } }),
    },
    ...(lineage === undefined ? {} : { [LINEAGE_CLAIM]: lineage }),
    nbf: notBefore,
    sub: serviceAccountUsername(namespace, account.name),
  };
};

/** Undefined for claims that are not whole: what we signed is what we wrote, unless another version of us wrote it. */
export function readBoundToken(claims: JsonObject): BoundToken | undefined {
  const bound = claims[PRIVATE_CLAIM];
  if (!isJsonObject(bound) || claims["iss"] !== SERVICE_ACCOUNT_ISSUER) return undefined;
  const { jti: id, exp: expiresAt, nbf: notBefore, sub } = claims;
  const { namespace } = bound;
  const account = readIdentity(bound["serviceaccount"]);
  const secret = readIdentity(bound["secret"]);
  if (typeof id !== "string" || typeof namespace !== "string" || account === undefined) return undefined;
  if (typeof expiresAt !== "number" || typeof notBefore !== "number") return undefined;
  if (sub !== serviceAccountUsername(namespace, account.name)) return undefined;
  if (bound["secret"] !== undefined && secret === undefined) return undefined;
  const lineage = readLineage(claims);
  return { id, namespace, account, secret, audiences: stringsOf(claims["aud"]), lineage, notBefore, expiresAt };
}

export function readLineage({ [LINEAGE_CLAIM]: lineage }: JsonObject): CredentialLineage | undefined {
  return isJsonObject(lineage) ? lineage : undefined;
}

function readIdentity(value: JsonValue | undefined): ObjectIdentity | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, uid } = value;
  return typeof name === "string" && typeof uid === "string" && uid !== "" ? { name, uid } : undefined;
}

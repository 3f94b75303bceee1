// Expiring tokens that are bound to a ServiceAccount, and optionally to a Pod, a Secret or a Node: claims, written and read.
// Source: k8s.io/kubernetes/pkg/serviceaccount/claims.go

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { CredentialLineage } from "@postern/apiserver/authentication/credential-lineage";
import { serviceAccountUsername } from "@postern/apiserver/authentication/service-account";
import { stringsOf } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { BoundKind, ObjectIdentity } from "./token-subjects.ts";

/** The audience and the issuer of the cluster's own tokens. */
export const SERVICE_ACCOUNT_ISSUER = "https://kubernetes.default.svc.cluster.local";

/** The private claim, under the name that Kubernetes gives it. */
const PRIVATE_CLAIM = "kubernetes.io";
/** Claim for the lineage that the token goes back to, in both kinds of token. */
export const LINEAGE_CLAIM = "lineage";

/** Its namespace is that of the ServiceAccount; Nodes have none. */
export type BoundObject = ObjectIdentity & { readonly kind: BoundKind };

/** The Node of a pod when the token was issued. `uid` is missing where there was no such Node. */
export type NodeOfPod = { readonly name: string; readonly uid?: string | undefined };

export type BoundToken = {
  readonly id: string;
  readonly namespace: string;
  readonly account: ObjectIdentity;
  /** The token ends with this object. */
  readonly boundTo: BoundObject | undefined;
  readonly nodeOfPod?: NodeOfPod | undefined;
  readonly audiences: readonly string[];
  readonly lineage?: CredentialLineage | undefined;
  /** In seconds since the epoch, as claims have it. */
  readonly notBefore: number;
  readonly expiresAt: number;
};

export const boundTokenClaims = (token: BoundToken): JsonObject => {
  const { id, namespace, account, boundTo, nodeOfPod, audiences, lineage, notBefore, expiresAt } = token;
  return {
    aud: [...audiences],
    exp: expiresAt,
    iat: notBefore,
    iss: SERVICE_ACCOUNT_ISSUER,
    jti: id,
    [PRIVATE_CLAIM]: {
      namespace,
      serviceaccount: { ...account },
      ...(boundTo === undefined ? {} : { [boundTo.kind]: { name: boundTo.name, uid: boundTo.uid } }),
      ...(nodeOfPod === undefined ? {} : { node: identityClaim(nodeOfPod) }),
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
  if (typeof id !== "string" || typeof namespace !== "string" || account === undefined) return undefined;
  if (typeof expiresAt !== "number" || typeof notBefore !== "number") return undefined;
  if (sub !== serviceAccountUsername(namespace, account.name)) return undefined;
  const kind = BOUND_KINDS.find((candidate) => bound[candidate] !== undefined);
  const identity = kind && readIdentity(bound[kind]);
  if (kind !== undefined && identity === undefined) return undefined;
  const boundTo = kind && identity && { kind, ...identity };
  const nodeOfPod = kind === "pod" ? readNode(bound["node"]) : undefined;
  const lineage = readLineage(claims);
  const audiences = stringsOf(claims["aud"]);
  return { id, namespace, account, boundTo, nodeOfPod, audiences, lineage, notBefore, expiresAt };
}

/** In the order in which they are looked for: a token of a pod also names its Node, which it is not bound to. */
const BOUND_KINDS: readonly BoundKind[] = ["pod", "secret", "node"];

const identityClaim = ({ name, uid }: NodeOfPod): JsonObject => (uid === undefined ? { name } : { name, uid });

export function readLineage({ [LINEAGE_CLAIM]: lineage }: JsonObject): CredentialLineage | undefined {
  return isJsonObject(lineage) ? lineage : undefined;
}

function readIdentity(value: JsonValue | undefined): ObjectIdentity | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, uid } = value;
  return typeof name === "string" && typeof uid === "string" && uid !== "" ? { name, uid } : undefined;
}

function readNode(value: JsonValue | undefined): NodeOfPod | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, uid } = value;
  return typeof name === "string" ? { name, uid: typeof uid === "string" ? uid : undefined } : undefined;
}

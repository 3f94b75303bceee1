// Tokens in Secrets of type kubernetes.io/service-account-token: they never expire, and are valid while the Secret contains them.
// Source: k8s.io/kubernetes/pkg/serviceaccount/legacy.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CredentialLineage } from "@postern/apiserver/authentication/credential-lineage";
import { serviceAccountUsername } from "@postern/apiserver/authentication/service-account";
import { LINEAGE_CLAIM, readLineage } from "./bound-token.ts";

/** Issuer that such tokens name. */
export const SECRET_TOKEN_ISSUER = "kubernetes/serviceaccount";
export const SECRET_TOKEN_TYPE = "kubernetes.io/service-account-token";
/** On the Secret: whose token it is to hold. */
export const ACCOUNT_NAME_ANNOTATION = "kubernetes.io/service-account.name";
export const ACCOUNT_UID_ANNOTATION = "kubernetes.io/service-account.uid";
export const TOKEN_ENTRY = "token";

const CLAIMS = "kubernetes.io/serviceaccount/";
const NAMESPACE_CLAIM = `${CLAIMS}namespace`;
const SECRET_CLAIM = `${CLAIMS}secret.name`;
const ACCOUNT_CLAIM = `${CLAIMS}service-account.name`;
const UID_CLAIM = `${CLAIMS}service-account.uid`;

export type SecretToken = {
  readonly namespace: string;
  readonly account: { readonly name: string; readonly uid: string };
  /** Name of the Secret in that namespace. */
  readonly secretName: string;
  readonly lineage?: CredentialLineage | undefined;
};

export const secretTokenClaims = ({ namespace, account, secretName, lineage }: SecretToken): JsonObject => ({
  iss: SECRET_TOKEN_ISSUER,
  [NAMESPACE_CLAIM]: namespace,
  [SECRET_CLAIM]: secretName,
  [ACCOUNT_CLAIM]: account.name,
  [UID_CLAIM]: account.uid,
  sub: serviceAccountUsername(namespace, account.name),
  ...(lineage === undefined ? {} : { [LINEAGE_CLAIM]: lineage }),
});

/** Undefined for claims that are not whole. */
export function readSecretToken(claims: JsonObject): SecretToken | undefined {
  const values = [NAMESPACE_CLAIM, SECRET_CLAIM, ACCOUNT_CLAIM, UID_CLAIM].map((name) => claims[name]);
  const [namespace, secretName, name, uid] = values;
  if (typeof namespace !== "string" || typeof secretName !== "string") return undefined;
  if (typeof name !== "string" || typeof uid !== "string" || uid === "") return undefined;
  if (claims["sub"] !== serviceAccountUsername(namespace, name)) return undefined;
  return { namespace, account: { name, uid }, secretName, lineage: readLineage(claims) };
}

/** The token that a Secret holds; undefined where it holds none. */
export function tokenIn(secret: KubeObject | undefined): string | undefined {
  // A Secret's data is a map of texts in base64, which its schema has checked.
  const data = (secret?.["data"] ?? {}) as { readonly [entry: string]: string };
  const token = Object.hasOwn(data, TOKEN_ENTRY) ? data[TOKEN_ENTRY] : undefined;
  return token === undefined || token === "" ? undefined : Buffer.from(token, "base64").toString("latin1");
}

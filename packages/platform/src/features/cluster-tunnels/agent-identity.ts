// The ServiceAccount of an agent as its identity: a token that the cluster's own issuer signed takes the place of a stored key.
// Source: k8s.io/kubernetes/pkg/serviceaccount/claims.go

import type { AgentProof } from "@postern/api/cluster-tunnel";
import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { keySetError, readKeySet } from "../../foundation/issuers/key-set.ts";
import {
  candidateKeys,
  decodeToken,
  isSignedBy,
  TokenError,
  timeError,
  type UnverifiedToken,
} from "../../foundation/issuers/signed-token.ts";

export type AgentIdentity = {
  /** `iss` of its tokens. */
  readonly issuer: string;
  /** Public keys of the issuer, as a JWK set in JSON. */
  readonly jwks: string;
  /** `sub`: system:serviceaccount:<namespace>:<name>. */
  readonly subject: string;
  readonly accountUid: string;
  /** The one `aud`: the address at which the agent reaches the platform. */
  readonly audience: string;
};

/** A token that the cluster's issuer has signed for the agent. */
export type IdentityToken = {
  /** Uid of the pod, or of the ServiceAccount where the token is bound to no pod. */
  readonly holder: string;
  /** Why it is not good now. */
  readonly fault: string | undefined;
};

/** A key set is stored for each agent, and tenants have agents. Each key is read again for a token. */
const MAX_KEY_SET = 16 << 10;
const MAX_KEYS = 10;
const UID = /^[A-Za-z0-9-]{1,64}$/;

export type ProvenIdentity = { readonly identity: AgentIdentity; readonly holder: string };

/** Throws TokenError where the token proves no identity: it is no ServiceAccount's, or not signed by these keys, or not valid now. */
export async function identityIn({ token: text, jwks }: AgentProof, now: number): Promise<ProvenIdentity> {
  const fault = keysFault(jwks);
  if (fault !== undefined) throw new TokenError(fault);
  const token = decodeToken(text);
  const accountUid = uidAt(token, "serviceaccount");
  const { issuer, audiences, claims } = token;
  const [audience = "", ...more] = audiences;
  const subject = claims["sub"];
  if (accountUid === undefined || typeof subject !== "string")
    throw new TokenError("the token is not one of a ServiceAccount");
  if (more.length > 0) throw new TokenError("the token is for several audiences");
  const identity = { issuer, jwks, subject, accountUid, audience };
  const checked = await checkIdentity(text, identity, now);
  if (checked === undefined) throw new TokenError("the keys of the cluster did not sign the token");
  if (checked.fault !== undefined) throw new TokenError(checked.fault);
  return { identity, holder: checked.holder };
}

/** Undefined where the token is none of this agent, or no token. */
export async function checkIdentity(
  text: string,
  { issuer, jwks, subject, accountUid, audience }: AgentIdentity,
  now: number,
): Promise<IdentityToken | undefined> {
  const token = decodedOrUndefined(text);
  if (token === undefined) return undefined;
  const isOurs =
    token.issuer === issuer &&
    token.claims["sub"] === subject &&
    uidAt(token, "serviceaccount") === accountUid &&
    token.audiences.length === 1 &&
    token.audiences[0] === audience;
  // For the token of another one no signature is computed.
  if (!isOurs || !(await isSignedBy(token, candidateKeys(token, readKeySet(jwks))))) return undefined;
  const fault = timeError(token, now);
  return {
    holder: uidAt(token, "pod") ?? accountUid,
    fault: fault === undefined ? undefined : `${fault}: compare the clocks of the cluster and of the platform`,
  };
}

/** Why a key set is not taken over; undefined where it is. */
export function keysFault(jwks: string): string | undefined {
  if (jwks.length > MAX_KEY_SET) return `the key set of the cluster has more than ${MAX_KEY_SET} characters`;
  const fault = keySetError(jwks);
  if (fault !== undefined) return `the key set of the cluster ${fault}`;
  return readKeySet(jwks).length > MAX_KEYS ? `the key set of the cluster has more than ${MAX_KEYS} keys` : undefined;
}

function decodedOrUndefined(text: string): UnverifiedToken | undefined {
  try {
    return decodeToken(text);
  } catch (error) {
    if (error instanceof TokenError) return undefined;
    throw error;
  }
}

/** Claims of bound tokens name the ServiceAccount and the pod. */
function uidAt({ claims }: UnverifiedToken, name: "serviceaccount" | "pod"): string | undefined {
  const uid = memberOf(memberOf(claims["kubernetes.io"], name), "uid");
  return typeof uid === "string" && UID.test(uid) ? uid : undefined;
}

const memberOf = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isJsonObject(value) ? value[name] : undefined;

// The public keys of an issuer that are suitable to verify tokens.
// Source: RFC 7517, RFC 7518, RFC 8725 (JSON Web Token Best Current Practices)

import { createPublicKey, type KeyObject } from "node:crypto";
import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";

export type VerificationKey = {
  /** "" where the key has none. */
  readonly kid: string;
  /** Algorithms it may verify: a key is for one kind of signature, whatever a token says. */
  readonly algorithms: readonly string[];
  readonly key: KeyObject;
};

export type KeySet = readonly VerificationKey[];

/** Signatures alone: `none` and the HMACs, whose key would be the public one, are not among them. */
const RSA = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
const CURVES: ReadonlyMap<string, readonly string[]> = new Map([
  ["P-256", ["ES256"]],
  ["P-384", ["ES384"]],
  ["P-521", ["ES512"]],
  ["Ed25519", ["EdDSA", "Ed25519"]],
]);
export const SIGNATURE_ALGORITHMS: readonly string[] = [...RSA, ...[...CURVES.values()].flat()];

const MIN_RSA_BITS = 2048;
const MAX_RSA_BITS = 8192;
/** Go's limit: OpenSSL accepts exponents as long as the modulus, and verifies with those as slowly as it signs. */
const MAX_RSA_EXPONENT = 2n ** 31n - 1n;
/** More in one set are not looked at. */
const MAX_KEYS = 100;
const MAX_KID = 256;
/** Members of a private or secret key. */
const SECRET_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** Why a text is no key set that can be used; undefined for one that is. */
export function keySetError(text: string): string | undefined {
  const keys = keysIn(text);
  if (keys === undefined) return "must be the JSON of a JWK set: an object with a list of keys";
  if (keys.some(isSecret)) return "must contain only public keys";
  if (keys.length > MAX_KEYS) return `must hold ${MAX_KEYS} keys at most`;
  return readKeySet(text).length === 0
    ? `must contain a key for signatures: RSA of ${MIN_RSA_BITS} bits at least, P-256, P-384, P-521 or Ed25519`
    : undefined;
}

/** Keys for something else, weak ones, and those of unknown kinds are passed over, as RFC 7517 section 5 has it. */
export const readKeySet = (text: string): KeySet =>
  (keysIn(text) ?? []).slice(0, MAX_KEYS).flatMap((jwk) => {
    const key = readKey(jwk);
    return key === undefined ? [] : [key];
  });

function keysIn(text: string): readonly JsonObject[] | undefined {
  try {
    const set = parseJson(text, { maxDepth: 10 });
    const keys = isJsonObject(set) ? set["keys"] : undefined;
    return isJsonArray(keys) ? keys.filter(isJsonObject) : undefined;
  } catch {
    return undefined;
  }
}

export const isSecret = (jwk: JsonObject): boolean => SECRET_MEMBERS.some((member) => jwk[member] !== undefined);

/** Undefined for a key that is no good for signatures. */
export function readKey(jwk: JsonObject): VerificationKey | undefined {
  const { kty, crv, use, alg, kid, key_ops: operations } = jwk;
  // A published private key no longer authenticates anything.
  if (isSecret(jwk) || (use !== undefined && use !== "sig")) return undefined;
  if (isJsonArray(operations) && !operations.includes("verify")) return undefined;
  if (typeof kid === "string" && kid.length > MAX_KID) return undefined;
  const curve = typeof crv === "string" ? crv : "";
  const possible = kty === "RSA" ? RSA : kty === "EC" || kty === "OKP" ? (CURVES.get(curve) ?? []) : [];
  const algorithms = alg === undefined ? possible : possible.filter((name) => name === alg);
  const key = algorithms.length === 0 ? undefined : importKey(jwk);
  if (key === undefined || !isStrong(key)) return undefined;
  return { kid: typeof kid === "string" ? kid : "", algorithms, key };
}

function importKey(jwk: JsonObject): KeyObject | undefined {
  try {
    // Node checks the members that the kind of the key has.
    return createPublicKey({ key: jwk as import("node:crypto").JsonWebKey, format: "jwk" });
  } catch {
    return undefined;
  }
}

function isStrong({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType !== "rsa") return true;
  const { modulusLength = 0, publicExponent = 0n } = asymmetricKeyDetails ?? {};
  return (
    modulusLength >= MIN_RSA_BITS &&
    modulusLength <= MAX_RSA_BITS &&
    publicExponent >= 3n &&
    publicExponent <= MAX_RSA_EXPONENT &&
    publicExponent % 2n === 1n
  );
}

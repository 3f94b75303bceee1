// Verifies DPoP proofs (RFC 9449): of requests with an access key that is bound to a key pair, and of token requests.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { ApiError, tooManyRequestsError } from "@postern/apimachinery/meta/api-error";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { type ApiRequest, headerOf } from "@postern/apiserver/transport/api-request";
import { calculateJwkThumbprint } from "jose";
import type { KeyRing } from "../../../foundation/encryption/key-ring.ts";
import { readKey, SIGNATURE_ALGORITHMS, type VerificationKey } from "../../../foundation/issuers/key-set.ts";
import { isSignedBy, TokenError } from "../../../foundation/issuers/signed-token.ts";
import { AccessKeyRefusedError } from "../access-key-refusal.ts";
import { type Proof, readProof } from "./dpop-proof.ts";
import { createProofNonces, PERIOD_MS } from "./proof-nonces.ts";
import { type Confirmation, confirmationOfKey, type ProofRefusal } from "./proof-of-possession.ts";
import type { UsedProofs } from "./used-proofs.ts";

/** How clients reach this server. */
export type OwnAddresses = {
  /** Such as `https://platform.example.com:8443`. */
  url(): string;
  /** Whether the serving certificate is for this name or address. */
  isOwnName(host: string): boolean;
};

export type ProofVerifier = {
  /**
   * The proof of a request, of which all is checked but its signature; says nothing about `token`. Throws ApiError 401 with a challenge: `invalid_dpop_proof`,
   * or `use_dpop_nonce` with a nonce to try again with.
   */
  read(request: ProofRequest, token: string | undefined): Proof;
  /** The confirmation of a key that is bound to the pair of the proof. Throws TokenError for a key that cannot sign proofs. */
  confirmationOf(proof: Proof): Promise<Confirmation>;
  /** Why the proof does not prove possession; undefined where it does, once. Rejects with ApiError 429 where an owner has too many. */
  refusalOf(proof: Proof, confirmation: Confirmation, owner: string): Promise<ProofRefusal | undefined>;
};

type ProofRequest = Pick<ApiRequest, "method" | "path" | "basePath" | "headers">;

/** Algorithms of proofs. */
const ALGORITHMS = `algs="${SIGNATURE_ALGORITHMS.join(" ")}"`;
/** Public keys that are kept parsed. */
const MAX_KEYS = 1_000;

/** Headers of a 401 to a request with the scheme DPoP. */
export const challenge = (
  error: "invalid_dpop_proof" | "invalid_token" | "use_dpop_nonce",
): { readonly "www-authenticate": string } => ({ "www-authenticate": `DPoP error="${error}", ${ALGORITHMS}` });

export function createProofVerifier({
  keyRing,
  clock,
  addresses,
  used,
}: {
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly addresses: OwnAddresses;
  readonly used: UsedProofs;
}): ProofVerifier {
  const nonces = createProofNonces(keyRing, clock);
  const keys = new Map<string, KnownKey>();

  /** Throws TokenError. */
  const keyOf = async (jwk: JsonObject): Promise<KnownKey> => {
    const text = stringifyJson(jwk);
    const known = keys.get(text);
    if (known !== undefined) return known;
    const key = readKey(jwk);
    if (key === undefined) throw new TokenError("its key (jwk) is not one for signatures");
    const found = { key, confirmation: confirmationOfKey(await calculateJwkThumbprint(jwk)) };
    if (keys.size >= MAX_KEYS) keys.clear();
    keys.set(text, found);
    return found;
  };
  const isOwn = (url: URL): boolean =>
    url.origin === originOf(addresses.url()) || (url.protocol === "https:" && addresses.isOwnName(hostOf(url)));

  return {
    read({ method, path, basePath, headers }, token) {
      try {
        const text = headerOf({ headers }, "dpop");
        if (text === "") throw new TokenError("there is none");
        const proof = readProof(text, { method, path: basePath + path, isOwn, token, now: clock.now() });
        if (nonces.periodOf(proof.nonce ?? "") !== undefined) return proof;
      } catch (error) {
        if (!(error instanceof TokenError)) throw error;
        throw refused(`the DPoP proof: ${error.message}`, challenge("invalid_dpop_proof"));
      }
      const headers401 = { ...challenge("use_dpop_nonce"), "dpop-nonce": nonces.current() };
      throw refused("the DPoP proof: it needs the nonce in the header DPoP-Nonce", headers401, { isGuess: false });
    },
    confirmationOf: async ({ jwk }) => (await keyOf(jwk)).confirmation,
    async refusalOf(proof, confirmation, owner) {
      const invalid = (message: string): ProofRefusal => ({
        reason: "ProofInvalid",
        message: `spec.confirmation: ${message}`,
      });
      const found = await keyOf(proof.jwk).catch((error: unknown) => {
        if (error instanceof TokenError) return undefined;
        throw error;
      });
      if (found?.confirmation !== confirmation)
        return { reason: "ProofMissing", message: "spec.confirmation: the proof is by another key" };
      const { key } = found;
      if (!key.algorithms.includes(proof.algorithm) || !(await isSignedBy(proof, [key])))
        return invalid("the signature of the proof is wrong");
      const period = nonces.periodOf(proof.nonce ?? "");
      if (period === undefined) return invalid("the nonce of the proof has expired");
      const { id } = proof;
      const isFirst = await used.take({ period, now: nonces.period, owner, thumbprint: confirmation, id });
      if (isFirst === undefined)
        throw tooManyRequestsError("too many DPoP proofs of one owner, please try again later.", PERIOD_MS / 1_000);
      return isFirst ? undefined : { reason: "ProofReplayed", message: "spec.confirmation: the proof was used before" };
    },
  };
}

type KnownKey = { readonly key: VerificationKey; readonly confirmation: Confirmation };

/** As `URL` has it: without port 443, in small letters. */
const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : "");

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");

const refused = (
  message: string,
  headers: { readonly [name: string]: string },
  { isGuess = true }: { readonly isGuess?: boolean } = {},
): ApiError =>
  new ApiError({
    code: 401,
    reason: "Unauthorized",
    message,
    cause: new AccessKeyRefusedError(message, undefined, {}, { headers, isGuess }),
  });

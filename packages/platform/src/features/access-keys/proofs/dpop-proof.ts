// A DPoP proof as it came in: a JWT that a client signs for one request. All checks here are cheap and need no key of the server.
// Source: RFC 9449, sections 4.2 and 4.3

import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { isSecret } from "../../../foundation/issuers/key-set.ts";
import { decodeSigned, isTime, type SignedText, TokenError } from "../../../foundation/issuers/signed-token.ts";

export type Proof = SignedText & {
  readonly jwk: JsonObject;
  /** jti: the same for no other proof of the key. */
  readonly id: string;
  readonly nonce: string | undefined;
};

/** The request that a proof has to be for. */
export type ProvenRequest = {
  readonly method: string;
  /** Absolute, without the query, and as the client sent it. */
  readonly path: string;
  /** Whether this server is the one of a URL, whatever its path. */
  readonly isOwn: (url: URL) => boolean;
  /** The credential beside the proof; undefined at the token endpoint, where there is none yet. */
  readonly token: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
};

const TYPES = ["dpop+jwt"];
/** The largest RSA key and signature fit. */
const MAX_LENGTH = 8 * 1024;
const MAX_ID_LENGTH = 256;
/** The nonce says when a proof was made, by the clock of the server. This only finds clients whose clock is far away. */
const MAX_AGE_MS = 5 * 60_000;

/** Throws TokenError for what is no proof for this request. The message names the member, and never repeats its value. */
export function readProof(text: string, { method, path, isOwn, token, now }: ProvenRequest): Proof {
  const signed = decodeSigned(text, { types: TYPES, maxLength: MAX_LENGTH });
  const { typ, jwk } = signed.header;
  const { jti, htm, htu, iat, ath, nonce } = signed.claims;
  const check = (holds: boolean, why: string): void => {
    if (!holds) throw new TokenError(why);
  };
  check(typ !== undefined, "its type (typ) must be dpop+jwt");
  check(typeof jti === "string" && jti !== "" && jti.length <= MAX_ID_LENGTH, "it needs an identifier (jti)");
  check(htm === method, `its method (htm) must be ${method}`);
  check(typeof htu === "string" && isUrlOf(htu, path, isOwn), "its URL (htu) is not the one of the request");
  check(isTime(iat) && Math.abs(now - iat * 1000) <= MAX_AGE_MS, "its time (iat) is too far from that of the server");
  check(token === undefined || ath === hashOf(token), "it needs the SHA-256 of the access key (ath)");
  if (!isJsonObject(jwk)) throw new TokenError("its header needs a public key (jwk)");
  check(!isSecret(jwk), "its key (jwk) must be a public one");
  return { ...signed, jwk, id: String(jti), nonce: typeof nonce === "string" ? nonce : undefined };
}

function isUrlOf(htu: string, path: string, isOwn: ProvenRequest["isOwn"]): boolean {
  if (!URL.canParse(htu)) return false;
  const url = new URL(htu);
  return url.pathname === path && url.username === "" && url.password === "" && isOwn(url);
}

const hashOf = (token: string): string => createHash("sha256").update(token).digest("base64url");

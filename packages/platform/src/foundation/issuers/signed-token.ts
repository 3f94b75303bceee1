// A token as it came in: taken apart, held against a clock, and verified with the keys of an issuer.
// Source: RFC 7515, RFC 7519, RFC 8725

import { findDuplicateFields } from "@postern/apimachinery/json/find-duplicate-fields";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { compactVerify } from "jose";
import { type KeySet, SIGNATURE_ALGORITHMS, type VerificationKey } from "./key-set.ts";

/** Issuers of CI send two kilobytes. */
export const MAX_TOKEN_LENGTH = 16 * 1024;
const MAX_HEADER_LENGTH = 4 * 1024;
const MAX_DEPTH = 16;
const SEGMENT = /^[\w-]+$/;
/** How far the clocks of issuers may be apart from ours. */
export const CLOCK_SKEW_MS = 30_000;
/** Keys of one kid that are tried. */
const MAX_TRIED = 3;

/** A signed text; nothing in it is true before its signature is verified. */
export type SignedText = {
  readonly text: string;
  readonly algorithm: string;
  readonly header: JsonObject;
  readonly claims: JsonObject;
};

/** Content of a token; none of it is true before its signature is verified. */
export type UnverifiedToken = SignedText & {
  readonly kid: string | undefined;
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
};

export class TokenError extends Error {
  override readonly name = "TokenError";
}

const JWT_TYPES: readonly string[] = ["jwt"];
/** Usually left out (RFC 7515 section 4.1.9). */
const MEDIA_TYPE = /^application\//;

type TokenForm = { readonly types?: readonly string[]; readonly maxLength?: number };

/**
 * Throws TokenError for a text that is no signed token, or one that no rule can accept. No message contains the token. `types` are the types that its
 * header may name, in lower case.
 */
export function decodeToken(given: string, form: TokenForm = {}): UnverifiedToken {
  const signed = decodeSigned(given, form);
  const { iss, exp } = signed.claims;
  if (typeof iss !== "string" || iss === "") throw new TokenError("the token names no issuer (iss)");
  if (!isTime(exp)) throw new TokenError("the token has no expiry (exp)");
  const audiences = audiencesOf(signed.claims["aud"]);
  if (audiences === undefined) throw new TokenError("the token names no audience (aud)");
  const { kid } = signed.header;
  return {
    ...signed,
    kid: typeof kid === "string" ? kid : undefined,
    issuer: iss,
    audiences,
    expiresAt: exp * 1000,
  };
}

/** A JWT of any claims. Throws TokenError as `decodeToken` does. */
export function decodeSigned(
  given: string,
  { types = JWT_TYPES, maxLength = MAX_TOKEN_LENGTH }: TokenForm = {},
): SignedText {
  // Files end with a line end, and it is no part of a token.
  const text = given.trim();
  if (text.length > maxLength) throw new TokenError(`the token has more than ${maxLength} characters`);
  const segments = text.split(".");
  const [head = "", body = ""] = segments;
  if (segments.length !== 3 || !segments.every(isCanonical)) throw new TokenError("the token is not a signed JWT");
  if (head.length > MAX_HEADER_LENGTH) throw new TokenError("the header of the token is too long");
  const header = decodeSegment(head);
  const claims = decodeSegment(body);
  if (header === undefined || claims === undefined) throw new TokenError("the token is not a signed JWT");
  const { alg, kid, crit, typ } = header;
  if (typeof alg !== "string" || !SIGNATURE_ALGORITHMS.includes(alg))
    throw new TokenError(`the token must be signed with one of ${SIGNATURE_ALGORITHMS.join(", ")}`);
  if (crit !== undefined) throw new TokenError("the header of the token requires extensions (crit)");
  if (typ !== undefined && (typeof typ !== "string" || !types.includes(typ.toLowerCase().replace(MEDIA_TYPE, ""))))
    throw new TokenError("the token is of another type (typ) than JWT");
  if (kid !== undefined && typeof kid !== "string") throw new TokenError("the kid of the token is not a string");
  return { text, algorithm: alg, header, claims };
}

/** Why the token is not good at this time, in milliseconds since the epoch; undefined where it is. */
export function timeError({ expiresAt, claims }: UnverifiedToken, now: number): string | undefined {
  if (expiresAt <= now - CLOCK_SKEW_MS) return "the token has expired (exp)";
  for (const name of ["nbf", "iat"] as const) {
    const time = claims[name];
    if (time === undefined) continue;
    if (!isTime(time)) return `the ${name} of the token is not a time`;
    if (time * 1000 > now + CLOCK_SKEW_MS) return `the token is not valid yet (${name})`;
  }
  return undefined;
}

/** The keys of a set that may have signed the token: by its kid, or the only one there is. */
export function candidateKeys({ kid, algorithm }: UnverifiedToken, keys: KeySet): KeySet {
  const named = kid === undefined ? (keys.length === 1 ? keys : []) : keys.filter((key) => key.kid === kid);
  return named.filter(({ algorithms }) => algorithms.includes(algorithm)).slice(0, MAX_TRIED);
}

/** Whether one of these keys signed the token. */
export async function isSignedBy({ text, algorithm }: SignedText, keys: KeySet): Promise<boolean> {
  for (const key of keys) if (await verifies(text, algorithm, key)) return true;
  return false;
}

async function verifies(text: string, algorithm: string, { key }: VerificationKey): Promise<boolean> {
  try {
    await compactVerify(text, key, { algorithms: [algorithm] });
    return true;
  } catch {
    return false;
  }
}

export const isTime = (value: JsonValue | undefined): value is number =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 && value < 1e11;

function audiencesOf(aud: JsonValue | undefined): readonly string[] | undefined {
  const list = isJsonArray(aud) ? aud : [aud];
  const texts = list.filter((each) => typeof each === "string");
  return texts.length === list.length && texts.length > 0 ? texts : undefined;
}

/** Base64 can be written in several ways, a token in one. */
const isCanonical = (segment: string): boolean =>
  SEGMENT.test(segment) && Buffer.from(segment, "base64url").toString("base64url") === segment;

function decodeSegment(segment: string): JsonObject | undefined {
  try {
    const text = Buffer.from(segment, "base64url").toString("utf8");
    const value = parseJson(text, { maxDepth: MAX_DEPTH });
    // A reader of the first of two members and a reader of the last would see two tokens.
    return isJsonObject(value) && findDuplicateFields(text).length === 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

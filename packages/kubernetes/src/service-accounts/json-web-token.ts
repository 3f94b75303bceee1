// JSON Web Tokens with known keys and one algorithm (ES256). Other algorithms in a header are rejected.
// Source: RFC 7515, RFC 7518 section 3.4

import { sign, verify } from "node:crypto";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { ServiceAccountKey } from "./service-account-key.ts";

export const TOKEN_ALGORITHM = "ES256";
const SIGNATURE_BYTES = 64;
/** Ours have about 1 KiB. */
const MAX_LENGTH = 16 * 1024;
const SEGMENT = /^[\w-]+$/;

export function signToken(claims: JsonObject, { signingKey, id }: ServiceAccountKey): string {
  const content = `${encode({ alg: TOKEN_ALGORITHM, kid: id })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(content), { key: signingKey, dsaEncoding: "ieee-p1363" });
  return `${content}.${signature.toString("base64url")}`;
}

/** The id of the key that a token names in its header, without a proof; undefined for every other text. */
export function keyIdOfToken(token: string): string | undefined {
  if (token.length > MAX_LENGTH) return undefined;
  const id = decodeSegment(token.slice(0, Math.max(0, token.indexOf("."))))?.["kid"];
  return typeof id === "string" ? id : undefined;
}

/** The claims of a token that this key signed; undefined for every other text. */
export function openToken(token: string, { verificationKey, id }: ServiceAccountKey): JsonObject | undefined {
  if (token.length > MAX_LENGTH) return undefined;
  const segments = token.split(".");
  const [header = "", payload = "", signature = ""] = segments;
  if (segments.length !== 3 || !segments.every((segment) => SEGMENT.test(segment))) return undefined;
  if (!isOurHeader(decodeSegment(header), id)) return undefined;
  const bytes = Buffer.from(signature, "base64url");
  // Base64 can be written in several ways, a token in one.
  if (bytes.length !== SIGNATURE_BYTES || bytes.toString("base64url") !== signature) return undefined;
  const key = { key: verificationKey, dsaEncoding: "ieee-p1363" } as const;
  if (!verify("sha256", Buffer.from(`${header}.${payload}`), key, bytes)) return undefined;
  return decodeSegment(payload);
}

/** `crit` and every other member that would change what the token means is unknown here, so a header has none. */
const isOurHeader = (header: JsonObject | undefined, id: string): boolean =>
  header !== undefined && Object.keys(header).length === 2 && header["alg"] === TOKEN_ALGORITHM && header["kid"] === id;

const encode = (value: JsonObject): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** The object that a segment is written from; undefined for anything else. */
export function decodeSegment(segment: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(segment, "base64url").toString("utf8"));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

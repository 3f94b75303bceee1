// Keys that are bound to a private key of their client: spec.confirmation. Either to a client certificate (RFC 8705, section 3), whose private key the
// handshake proves while no CA and no date of it matters; or to a key pair that signs a proof of each request (RFC 9449).

import type { X509Certificate } from "node:crypto";
import type { AccessKeySpec } from "@postern/api/owned-access-key";
import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { textOf } from "@postern/apimachinery/json/lenient-json";

/**
 * "": the key is bound to nothing. For a client certificate its hash in lower-case hexadecimal; for a key pair `jwk:` and the thumbprint of its public key
 * in base64url (RFC 7638).
 */
export type Confirmation = string;

export type ProofRefusal = { readonly reason: string; readonly message: string };

const OF_KEY = "jwk:";
const HEXADECIMAL = /^(?:[0-9a-f]{2}:?){31}[0-9a-f]{2}$/i;
const BASE64URL = /^[\w-]{43}$/;

/** As openssl prints it, with or without colons, or in base64url as `x5t#S256`. Undefined for anything else. */
export function parseThumbprint(text: string): Confirmation | undefined {
  if (HEXADECIMAL.test(text)) return text.replaceAll(":", "").toLowerCase();
  return BASE64URL.test(text) ? Buffer.from(text, "base64url").toString("hex") : undefined;
}

/** A hash in its one form: of 43 characters the last has two bits that say nothing. */
export const isJwkThumbprint = (text: string): boolean =>
  BASE64URL.test(text) && Buffer.from(text, "base64url").toString("base64url") === text;

export const confirmationOfKey = (thumbprint: string): Confirmation => OF_KEY + thumbprint;

/** Whether requests need a signed proof of each. */
export const needsSignedProof = (confirmation: Confirmation): boolean => confirmation.startsWith(OF_KEY);

/** A key that is bound to something that is no thumbprint is bound to what no client has. */
export function readConfirmation(value: JsonValue | undefined): Confirmation {
  if (!isJsonObject(value)) return "";
  const thumbprint = textOf(value["jwkThumbprint"]);
  if (thumbprint !== "") return confirmationOfKey(thumbprint);
  const text = textOf(value["certificateSHA256"]);
  return text === "" ? "" : (parseThumbprint(text) ?? text);
}

export const confirmationSpec = (confirmation: Confirmation): NonNullable<AccessKeySpec["confirmation"]> =>
  needsSignedProof(confirmation)
    ? { jwkThumbprint: confirmation.slice(OF_KEY.length) }
    : { certificateSHA256: confirmation };

const known = new WeakMap<X509Certificate, Confirmation>();

/** Once for each connection. */
function thumbprintOf(certificate: X509Certificate): Confirmation {
  const before = known.get(certificate);
  if (before !== undefined) return before;
  const thumbprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
  known.set(certificate, thumbprint);
  return thumbprint;
}

/** Why a client with this certificate, and without a signed proof, may not use a key that is bound; undefined if it may. For the audit log. */
export function proofRefusal(
  confirmation: Confirmation,
  certificate: X509Certificate | undefined,
): ProofRefusal | undefined {
  if (confirmation === "" || (certificate !== undefined && thumbprintOf(certificate) === confirmation))
    return undefined;
  const found = needsSignedProof(confirmation)
    ? "the request has no DPoP proof"
    : `the connection has ${certificate === undefined ? "no client certificate" : "another client certificate"}`;
  return { reason: "ProofMissing", message: `spec.confirmation: ${found}` };
}

// Keys that are bound to a client certificate (RFC 8705, section 3): spec.confirmation. The handshake proves that the client has its private key; no CA
// and no date of the certificate matters.

import type { X509Certificate } from "node:crypto";

/** Lower-case hexadecimal. "": the key is bound to none. */
export type CertificateThumbprint = string;

const HEXADECIMAL = /^(?:[0-9a-f]{2}:?){31}[0-9a-f]{2}$/i;
const BASE64URL = /^[\w-]{43}$/;

/** As openssl prints it, with or without colons, or in base64url as `x5t#S256`. Undefined for anything else. */
export function parseThumbprint(text: string): CertificateThumbprint | undefined {
  if (HEXADECIMAL.test(text)) return text.replaceAll(":", "").toLowerCase();
  return BASE64URL.test(text) ? Buffer.from(text, "base64url").toString("hex") : undefined;
}

const known = new WeakMap<X509Certificate, CertificateThumbprint>();

/** Once for each connection. */
function thumbprintOf(certificate: X509Certificate): CertificateThumbprint {
  const before = known.get(certificate);
  if (before !== undefined) return before;
  const thumbprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
  known.set(certificate, thumbprint);
  return thumbprint;
}

/** Why a client with this certificate may not use a key that is bound to one; undefined if it may. For the audit log. */
export function proofRefusal(
  confirmation: CertificateThumbprint,
  certificate: X509Certificate | undefined,
): { readonly reason: string; readonly message: string } | undefined {
  if (confirmation === "" || (certificate !== undefined && thumbprintOf(certificate) === confirmation))
    return undefined;
  const found = certificate === undefined ? "no client certificate" : "another client certificate";
  return { reason: "ProofMissing", message: `spec.confirmation: the connection has ${found}` };
}

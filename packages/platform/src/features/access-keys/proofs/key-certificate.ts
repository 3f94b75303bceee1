// Client certificates that stand in for the value of an access key: they name the key, which is bound to exactly this certificate.

import type { X509Certificate } from "node:crypto";
import { derImplicit } from "@postern/apiserver/x509/der";

const PREFIX = "urn:access-key:";
/** GeneralName: uniformResourceIdentifier. Source: RFC 5280, section 4.2.1.6 */
const URI = 6;
/** Names of keys are DNS-1123 subdomains. */
const IN_CERTIFICATE = /(?:^|, )URI:urn:access-key:([a-z0-9.-]{1,253})(?:,|$)/;

/** For the extension subjectAltName. */
export const nameForKey = (key: string): Uint8Array => derImplicit(URI, Buffer.from(`${PREFIX}${key}`, "ascii"));

const known = new WeakMap<X509Certificate, string>();

/** The name of the key; "" for other certificates. Nothing proves it but the thumbprint that the key is bound to. */
export function keyNamedIn(certificate: X509Certificate): string {
  const before = known.get(certificate);
  if (before !== undefined) return before;
  const name = IN_CERTIFICATE.exec(certificate.subjectAltName ?? "")?.[1] ?? "";
  known.set(certificate, name);
  return name;
}

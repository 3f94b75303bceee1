// Whether the certificate of a server is signed by an authority that is named for it.

import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { TLSSocket } from "node:tls";

/** OpenSSL takes a certificate that names its own subject as its issuer for a self-signed one, and looks for no authority. */
const NAMES_ITSELF = "DEPTH_ZERO_SELF_SIGNED_CERT";

/**
 * The error of a server that OpenSSL does not trust, with its code; undefined where it is trusted all the same. For clients in Go, signatures
 * decide: a certificate with the names of its authority is trusted. So it is here, where the authority itself is named. Some generators leave the
 * names of both empty.
 */
export function trustFault(socket: TLSSocket, authoritiesPem: string, host: string): Error | undefined {
  // Node says the code of an unauthorized connection.
  const code = String(socket.authorizationError);
  const certificate = code === NAMES_ITSELF ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined || !isSignedByOneOf(certificate, authoritiesPem)) return faultOf(code);
  const name = isIP(host) === 0 ? certificate.checkHost(host, { subject: "never" }) : certificate.checkIP(host);
  return name === undefined ? faultOf("ERR_TLS_CERT_ALTNAME_INVALID") : undefined;
}

const faultOf = (code: string): Error => Object.assign(new Error(code), { code });

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
/** The DER of the identifier of the extension. What it forbids is for OpenSSL to find. */
const NAME_CONSTRAINTS = Buffer.from("0603551d1e", "hex");
/** Extended key usages, `serverAuth` and any. */
const SERVES_TLS: readonly string[] = ["1.3.6.1.5.5.7.3.1", "2.5.29.37.0"];

function isSignedByOneOf(certificate: X509Certificate, authoritiesPem: string): boolean {
  if (!isCurrent(certificate)) return false;
  // A certificate without this extension has no usages, of which Node's types do not know.
  const usages: readonly string[] | undefined = certificate.keyUsage;
  if (usages !== undefined && !usages.some((usage) => SERVES_TLS.includes(usage))) return false;
  return (authoritiesPem.match(CERTIFICATE) ?? []).some((pem) => {
    try {
      const authority = new X509Certificate(pem);
      return (
        authority.ca &&
        isCurrent(authority) &&
        !authority.raw.includes(NAME_CONSTRAINTS) &&
        certificate.checkIssued(authority) &&
        certificate.verify(authority.publicKey)
      );
    } catch {
      // OpenSSL takes a bundle with a part, or a key, that it cannot read.
      return false;
    }
  });
}

function isCurrent({ validFrom, validTo }: X509Certificate): boolean {
  const now = Date.now();
  return Date.parse(validFrom) <= now && now <= Date.parse(validTo);
}

// The chain of certificates that a client presented, as TLS has it, whether or not it is trusted.

import type { TLSSocket } from "node:tls";

/** Length of the certificates in DER. */
export function bytesOfChain(socket: TLSSocket): number {
  let bytes = 0;
  const counted = new Set<object>();
  // The last one names itself as its issuer.
  for (
    let certificate = socket.getPeerCertificate(true);
    certificate?.raw !== undefined && !counted.has(certificate);
    certificate = certificate.issuerCertificate
  ) {
    counted.add(certificate);
    bytes += certificate.raw.length;
  }
  return bytes;
}

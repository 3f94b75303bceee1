// The chain of certificates that a client presented, as TLS has it, whether or not it is trusted.

import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";

/** Not `getPeerCertificate(true)`, which leaks memory in some releases of Node (CVE-2025-59464), and writes each name of a certificate as text. */
export function peerCertificateOf(socket: Pick<TLSSocket, "getPeerX509Certificate">): X509Certificate | undefined {
  try {
    return socket.getPeerX509Certificate();
  } catch {
    // An unreadable certificate identifies no user.
    return undefined;
  }
}

/** Length of the certificates in DER, also of those that no other of them was signed with. */
export function bytesOfChain(socket: Pick<TLSSocket, "getPeerX509Certificate">): number {
  let bytes = 0;
  // With the chain of a connection, Node links each certificate to the next one that was sent.
  for (
    let certificate = peerCertificateOf(socket);
    certificate !== undefined;
    certificate = certificate.issuerCertificate
  )
    bytes += certificate.raw.length;
  return bytes;
}

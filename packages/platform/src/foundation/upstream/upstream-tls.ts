// TLS towards a target. Tenants name targets, and their certificates and keys: what a handshake costs has limits.

import { constants, createPrivateKey } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { CIPHER_SUITES, KEY_EXCHANGE_GROUPS } from "@postern/apiserver/transport/tls/key-exchange";
import type { UpstreamTarget } from "./upstream-target.ts";

type UpstreamTls = {
  readonly secureContext: SecureContext;
  readonly rejectUnauthorized: boolean;
  readonly servername?: string;
};

/** OpenSSL reads them on the event loop, a few in each millisecond. All public roots of a system are about 150. */
const MAX_CERTIFICATES = 256;
/** A handshake signs with the key on the event loop: 4 ms with 4,096 bits, half a second with 16,384. */
const MAX_RSA_BITS = 4_096;

/** A bundle or a key that is refused before OpenSSL reads it. Its message does not quote it. */
export class CostlyTlsError extends Error {}

/**
 * Parsed once, so that no connection does it again. Throws CostlyTlsError, and what OpenSSL says about certificates and keys that do not fit
 * together.
 */
export function upstreamTls({
  certificateAuthorityPem,
  tlsServerName,
  insecureSkipTlsVerify,
  credential: { clientCertificate },
}: Omit<UpstreamTarget, "server">): UpstreamTls {
  checkBundle(certificateAuthorityPem, "the certificate authority");
  checkBundle(clientCertificate?.certificatePem, "the client certificate");
  checkKey(clientCertificate?.privateKeyPem);
  const secureContext = createSecureContext({
    minVersion: "TLSv1.2",
    ciphers: CIPHER_SUITES,
    ecdhCurve: KEY_EXCHANGE_GROUPS,
    // As for Go: a server of TLS 1.2 could ask for one handshake after the other.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    // As for Go, and so for kubectl: an authority that is named need not be a root.
    ...(certificateAuthorityPem === undefined ? {} : { ca: certificateAuthorityPem, allowPartialTrustChain: true }),
    ...(clientCertificate === undefined
      ? {}
      : { cert: clientCertificate.certificatePem, key: clientCertificate.privateKeyPem }),
  });
  return {
    secureContext,
    rejectUnauthorized: insecureSkipTlsVerify !== true,
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
  };
}

/** Throws CostlyTlsError, which names the bundle. */
export function checkBundle(pem: string | undefined, name: string, max: number = MAX_CERTIFICATES): void {
  if (pem === undefined || pem.split("-----BEGIN").length - 1 <= max) return;
  throw new CostlyTlsError(`${name} has more than ${max} certificates`);
}

function checkKey(pem: string | undefined): void {
  if (pem === undefined) return;
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = createPrivateKey(pem);
  if (type === "ec" || type === "ed25519" || type === "ed448") return;
  if (!/^rsa/.test(type ?? ""))
    throw new CostlyTlsError(`a client key of type ${type} is not supported: use EC or RSA`);
  if ((details.modulusLength ?? 0) <= MAX_RSA_BITS) return;
  throw new CostlyTlsError(`the RSA client key has more than ${MAX_RSA_BITS} bits`);
}

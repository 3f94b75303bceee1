// A private key with a self-signed client certificate, which proves its possession in a TLS handshake and names no identity.

import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { buildCertificate, CLIENT_CONSTRAINTS, randomSerial } from "@postern/apiserver/x509/certificate-builder";
import { encodeDistinguishedName } from "@postern/apiserver/x509/distinguished-name";
import { encodePem } from "@postern/apiserver/x509/pem";
import { CLOCK_SKEW_MS } from "./certificate-authority.ts";
import { makeKeyPair } from "./p256-key-pair.ts";

/** Receivers look at the hash alone, but some clients leave out a certificate that has expired. */
const LIFETIME_MS = 10 * 365 * 86_400_000;

export function createSelfSignedCertificate(
  commonName: string,
  { clock, random }: Pick<Runtime, "clock" | "random"> = systemRuntime,
): { readonly certificatePem: string; readonly privateKeyPem: string; readonly sha256: string } {
  const { privateKeyPem, publicKeyInfo } = makeKeyPair();
  const name = encodeDistinguishedName({ commonName, organizations: [] });
  const now = clock.now();
  const der = buildCertificate(
    {
      serial: randomSerial(random),
      issuer: name,
      subject: name,
      publicKeyInfo,
      notBefore: now - CLOCK_SKEW_MS,
      notAfter: now + LIFETIME_MS,
      extensions: CLIENT_CONSTRAINTS,
    },
    createPrivateKey(privateKeyPem),
  );
  return {
    certificatePem: encodePem("CERTIFICATE", der),
    privateKeyPem,
    sha256: new X509Certificate(der).fingerprint256.replaceAll(":", "").toLowerCase(),
  };
}

// Accepts the client certificates that the CA of one embedded cluster signed, and no others.

import type { Authentication, Authenticator } from "@postern/apiserver/authentication/authenticator";
import {
  type ClientCertificate,
  createClientCertificateAuthenticator,
} from "@postern/apiserver/authentication/client-certificate-authenticator";
import { watchExpiry } from "@postern/apiserver/authentication/revocation-watch";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { CertificateAuthority } from "../../../foundation/pki/certificate-authority.ts";

export const createClusterCertificates = (authority: CertificateAuthority, runtime: Runtime): Authenticator =>
  createClientCertificateAuthenticator({
    authorities: authority.certificatePem,
    clock: runtime.clock,
    identify: (certificate) => identityInside(certificate, runtime),
  });

/** The ID identifies the certificate, and cannot be that of an access key. */
function identityInside(
  { subject, fingerprint, notAfter }: ClientCertificate,
  runtime: Runtime,
): Authentication | undefined {
  if (subject.commonName === "") return undefined;
  return {
    user: { name: subject.commonName, groups: subject.organizations },
    credential: { id: `certificate:${fingerprint}`, onRevoked: watchExpiry(notAfter.getTime(), runtime) },
  };
}

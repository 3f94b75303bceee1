// Accepts the client certificates that a CA of one embedded cluster signed, and no others: one CA, and two while a rotation is prepared.

import type { Authentication, Authenticator } from "@postern/apiserver/authentication/authenticator";
import {
  type ClientCertificate,
  createClientCertificateAuthenticator,
} from "@postern/apiserver/authentication/client-certificate-authenticator";
import {
  type RevocationWatch,
  watchExpiry,
  watchFirst,
  watchRevocation,
} from "@postern/apiserver/authentication/revocation-watch";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { LiveSecrets } from "./cluster-secrets.ts";

type PeerCertificate = NonNullable<ReturnType<ApiRequest["peerCertificate"]>>;

export function createClusterCertificates(
  secrets: Pick<LiveSecrets, "current" | "onChange">,
  runtime: Runtime,
): Authenticator {
  const create = (): Authenticator =>
    createClientCertificateAuthenticator({
      authorities: secrets.current.authorities.map(({ certificatePem }) => certificatePem),
      clock: runtime.clock,
      identify: (certificate) => identityInside(certificate, runtime),
    });
  let authenticator = create();
  // As long as the cluster runs: its secrets end with it.
  secrets.onChange(() => {
    authenticator = create();
  });
  return {
    async authenticate(request) {
      const found = await authenticator.authenticate(request);
      const certificate = request.peerCertificate();
      if (found?.credential === undefined || certificate === undefined) return found;
      const { onRevoked } = found.credential;
      const watches = [onRevoked, untilAuthorityGoes(certificate, secrets)].filter((watch) => watch !== undefined);
      return { ...found, credential: { ...found.credential, onRevoked: watchFirst(watches) } };
    },
  };
}

function untilAuthorityGoes(
  certificate: PeerCertificate,
  secrets: Pick<LiveSecrets, "current" | "onChange">,
): RevocationWatch {
  const isOver = (): boolean =>
    !secrets.current.authorities.some(
      ({ certificate: authority }) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey),
    );
  return watchRevocation(isOver, (listener) => secrets.onChange(listener));
}

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

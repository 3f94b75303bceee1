// Signs client certificates: who the bearer is comes from us alone, only the public key from outside.

import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import { encodeDistinguishedName } from "@postern/apiserver/x509/distinguished-name";
import { encodePem } from "@postern/apiserver/x509/pem";
import { type CertificateAuthority, CLOCK_SKEW_MS } from "./certificate-authority.ts";
import { buildCertificate, CLIENT_CONSTRAINTS } from "./certificate-builder.ts";
import { formatSerial, randomSerial } from "./serial-number.ts";

export type ClientCertificateRequest = {
  readonly authority: CertificateAuthority;
  /** SubjectPublicKeyInfo as DER, of a key that `parseCertificateRequest` accepted or that we made. */
  readonly publicKeyInfo: Uint8Array;
  /** The user name. */
  readonly commonName: string;
  /** The groups. */
  readonly organizations: readonly string[];
  /** Milliseconds since the epoch; `Infinity` asks for as long as the authority lives. */
  readonly notAfter: number;
  /** 1 to 20 octets of a positive integer; absent means random. */
  readonly serial?: Uint8Array;
  readonly clock: Clock;
  readonly random: Random;
};

export type SignedCertificate = {
  readonly pem: string;
  /** Upper-case hexadecimal. */
  readonly serialNumber: string;
  /** Milliseconds since the epoch, whole seconds. */
  readonly notBefore: number;
  readonly notAfter: number;
  /** True when the life asked for was longer than the authority's, and was cut to it. */
  readonly clamped: boolean;
};

/**
 * Signs a certificate that is good for client authentication only. Throws RangeError for an end that is no number or
 * lies in the past, and for an empty name.
 */
export function signClientCertificate(request: ClientCertificateRequest): SignedCertificate {
  const { authority, publicKeyInfo, commonName, organizations, clock, random } = request;
  if (commonName === "") throw new RangeError("a client certificate needs a common name");
  const now = clock.now();
  const clamped = request.notAfter > authority.notAfter;
  const notAfter = toWholeSeconds(clamped ? authority.notAfter : request.notAfter);
  // Written so that NaN fails as well.
  if (!(notAfter > now)) throw new RangeError("a client certificate must end after now");
  const notBefore = toWholeSeconds(Math.max(now - CLOCK_SKEW_MS, authority.notBefore));
  const serial = request.serial ?? randomSerial(random);
  const der = buildCertificate(
    {
      serial,
      issuer: authority.subject,
      subject: encodeDistinguishedName({ commonName, organizations }),
      publicKeyInfo,
      notBefore,
      notAfter,
      extensions: [...CLIENT_CONSTRAINTS, ...authority.authorityKeyIdentifier],
    },
    authority.signingKey,
  );
  return { pem: encodePem("CERTIFICATE", der), serialNumber: formatSerial(serial), notBefore, notAfter, clamped };
}

const toWholeSeconds = (epochMs: number): number => Math.floor(epochMs / 1000) * 1000;

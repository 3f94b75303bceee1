// Signs client certificates. The server chooses the subject; only the public key comes from the requester.

import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import {
  buildCertificate,
  CLIENT_CONSTRAINTS,
  encodeExtension,
  formatSerial,
  randomSerial,
} from "@postern/apiserver/x509/certificate-builder";
import { derSequence } from "@postern/apiserver/x509/der";
import { encodeDistinguishedName } from "@postern/apiserver/x509/distinguished-name";
import { OID } from "@postern/apiserver/x509/object-identifiers";
import { encodePem } from "@postern/apiserver/x509/pem";
import { type CertificateAuthority, CLOCK_SKEW_MS } from "./certificate-authority.ts";

export type ClientCertificateRequest = {
  readonly authority: CertificateAuthority;
  /** SubjectPublicKeyInfo as DER, of a key that `parseCertificateRequest` accepted or that we made. */
  readonly publicKeyInfo: Uint8Array;
  /** The user name. */
  readonly commonName: string;
  /** The groups. */
  readonly organizations: readonly string[];
  /** GeneralNames as DER. Nothing here reads them. Default: none. */
  readonly alternativeNames?: readonly Uint8Array[];
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
  const { authority, publicKeyInfo, commonName, organizations, alternativeNames = [], clock, random } = request;
  if (commonName === "") throw new RangeError("a client certificate needs a common name");
  const now = clock.now();
  const clamped = request.notAfter > authority.notAfter;
  const notAfter = toWholeSeconds(clamped ? authority.notAfter : request.notAfter);
  // Written so that NaN fails as well.
  if (!(notAfter > now)) throw new RangeError("a client certificate must expire in the future");
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
      extensions: [
        ...CLIENT_CONSTRAINTS,
        ...authority.authorityKeyIdentifier,
        ...(alternativeNames.length === 0
          ? []
          : [encodeExtension(OID.subjectAlternativeName, derSequence(...alternativeNames))]),
      ],
    },
    authority.signingKey,
  );
  return { pem: encodePem("CERTIFICATE", der), serialNumber: formatSerial(serial), notBefore, notAfter, clamped };
}

const toWholeSeconds = (epochMs: number): number => Math.floor(epochMs / 1000) * 1000;

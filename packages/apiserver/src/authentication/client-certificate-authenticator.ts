// Authenticates X.509 client certificates: the common name is the user, the organizations are the groups.
// Source: k8s.io/apiserver/pkg/authentication/request/x509/x509.go

import { X509Certificate } from "node:crypto";
import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { Clock } from "../runtime/clock.ts";
import { type CertificateSubject, readCertificateSubject } from "../x509/certificate.ts";
import { DerError } from "../x509/der.ts";
import { OID } from "../x509/object-identifiers.ts";
import type { Authentication, Authenticator } from "./authenticator.ts";
import { EXTRA_CREDENTIAL_ID } from "./user-info.ts";

/** A certificate that a trusted authority signed for client authentication, and that is valid now. */
export type ClientCertificate = {
  readonly subject: CertificateSubject;
  /** Hexadecimal, upper case, as node:crypto prints it. */
  readonly serialNumber: string;
  /** SHA-256 of the certificate, lower-case hexadecimal without colons. */
  readonly fingerprint: string;
  readonly notAfter: Date;
};

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Only certificates signed directly by one of the authorities count: the TLS layer hands over no intermediates. */
export function createClientCertificateAuthenticator(deps: {
  /** The trusted authorities in PEM, several in one text allowed. Each one is a trust anchor. */
  readonly authorities: string | readonly string[];
  readonly clock: Clock;
  /** Certificates that none of the authorities signed: refused, or left to other authenticators. Default: refused. */
  readonly unknown?: "refuse" | "pass";
  /**
   * Identity of the holder; default: user = CN, groups = O. Undefined gives no identity; throw an ApiError 401 to refuse, for example
   * a serial number that has been revoked.
   */
  readonly identify?: (
    certificate: ClientCertificate,
  ) => Promise<Authentication | undefined> | Authentication | undefined;
}): Authenticator {
  const { authorities, clock, unknown = "refuse", identify = identityOfCertificate } = deps;
  const anchors = parseAuthorities([authorities].flat());
  // Checking a signature costs more than all the rest of a request, and a connection sends many with one certificate.
  const verified = new WeakMap<X509Certificate, Verified | "unknown">();
  return {
    authenticate(request) {
      const certificate = request.peerCertificate();
      if (certificate === undefined) return undefined;
      let known = verified.get(certificate);
      if (known === undefined) {
        known = verify(certificate, anchors);
        verified.set(certificate, known);
      }
      if (known === "unknown") {
        if (unknown === "pass") return undefined;
        throw unauthorizedError();
      }
      const now = clock.now();
      if (!(now >= known.validFrom && now <= known.validUntil)) throw unauthorizedError();
      return identify(known.certificate);
    },
  };
}

/** User = CN, groups = O; undefined for a certificate without a common name. */
export function identityOfCertificate({ subject, fingerprint }: ClientCertificate): Authentication | undefined {
  if (subject.commonName === "") return undefined;
  const id = `X509SHA256=${fingerprint}`;
  return {
    user: {
      name: subject.commonName,
      groups: subject.organizations,
      extra: { [EXTRA_CREDENTIAL_ID]: [id] },
    },
    credential: { id },
  };
}

type Verified = { readonly certificate: ClientCertificate; readonly validFrom: number; readonly validUntil: number };

/** The PEM certificates of `texts`. Throws if there is none, or if one is not a CA certificate. */
function parseAuthorities(texts: readonly string[]): readonly X509Certificate[] {
  const anchors = texts.flatMap((text) => text.match(PEM_CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem));
  if (anchors.length === 0) throw new Error("no certificate authority for client certificates given");
  const other = anchors.find(({ ca }) => !ca);
  if (other !== undefined) throw new Error(`${other.subject} is not a certificate authority`);
  return anchors;
}

/** Throws an ApiError 401 for a certificate of an anchor that is not for client authentication. Times are left to the caller. */
function verify(certificate: X509Certificate, anchors: readonly X509Certificate[]): Verified | "unknown" {
  const anchor = anchors.find((candidate) => isSignedBy(certificate, candidate));
  if (anchor === undefined) return "unknown";
  const subject = subjectOf(certificate);
  if (subject.isCertificateAuthority) throw unauthorizedError();
  if (!(subject.extendedKeyUsages ?? []).includes(OID.clientAuth)) throw unauthorizedError();
  return {
    certificate: {
      subject,
      serialNumber: certificate.serialNumber,
      fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
      notAfter: new Date(certificate.validTo),
    },
    validFrom: Math.max(Date.parse(certificate.validFrom), Date.parse(anchor.validFrom)),
    validUntil: Math.min(Date.parse(certificate.validTo), Date.parse(anchor.validTo)),
  };
}

function isSignedBy(certificate: X509Certificate, anchor: X509Certificate): boolean {
  return certificate.checkIssued(anchor) && certificate.verify(anchor.publicKey);
}

function subjectOf(certificate: X509Certificate): CertificateSubject {
  try {
    return readCertificateSubject(certificate.raw);
  } catch (error) {
    if (error instanceof DerError) throw unauthorizedError();
    throw error;
  }
}

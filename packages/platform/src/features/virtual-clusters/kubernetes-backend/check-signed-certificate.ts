// Whether a signer issued the requested certificate. Names are compared as kube-apiserver reads them, never as they are encoded:
// signers encode the subject again. Go writes the organizations as one sorted, multi-valued relative name of PrintableStrings.
// Source: Go's crypto/x509/pkix (Name.ToRDNSequence); k8s.io/kubernetes/pkg/controller/certificates/authority/authority.go

import { type KeyObject, X509Certificate } from "node:crypto";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { type CertificateSubject, readCertificateSubject } from "@postern/apiserver/x509/certificate";
import { DerError } from "@postern/apiserver/x509/der";
import { OID } from "@postern/apiserver/x509/object-identifiers";

export type WantedCertificate = {
  readonly publicKey: KeyObject;
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Milliseconds since the epoch; absent: it may last as long as the signer likes. */
  readonly latestEnd?: number | undefined;
};

/** Clocks differ. A signer whose clock is ahead writes a later end, and its cluster, which has the same clock, refuses the certificate as early as it should. */
const CLOCK_TOLERANCE_MS = 5 * 60_000;

/** `notAfter` in milliseconds since the epoch. `fault` may be shown to the caller. */
export type CheckedCertificate = { readonly notAfter: number } | { readonly fault: string };

/** Checks the first certificate of `pem`. Only the cluster can check the chain, since it knows which CAs it trusts. */
export function checkSignedCertificate(pem: string, wanted: WantedCertificate, clock: Clock): CheckedCertificate {
  const certificate = readCertificate(pem);
  if (certificate === undefined) return { fault: "it cannot be read" };
  if (!certificate.publicKeyInfo.equals(publicKeyInfoOf(wanted.publicKey))) return { fault: "it is for another key" };
  const subject = readSubject(certificate);
  if ("fault" in subject) return subject;
  const fault = subjectFault(subject, wanted);
  if (fault !== undefined) return { fault };
  const notAfter = Date.parse(certificate.validTo);
  if (!(notAfter > clock.now())) return { fault: "it has expired" };
  if (notAfter > (wanted.latestEnd ?? Infinity) + CLOCK_TOLERANCE_MS) {
    return { fault: "it outlives the access key of the request, so use a token" };
  }
  return { notAfter };
}

function subjectFault(subject: CertificateSubject, wanted: WantedCertificate): string | undefined {
  if (subject.commonName !== wanted.commonName) return "it has another common name";
  if (!isSameSet(subject.organizations, wanted.organizations)) return "it has other organizations";
  // Other attributes may be part of an identity, such as the UID for kube-apiserver.
  if (subject.hasOtherAttributes) return "its subject has other attributes";
  if (subject.isCertificateAuthority) return "it is a CA certificate";
  if (!(subject.extendedKeyUsages ?? []).includes(OID.clientAuth)) {
    return "it is not for client authentication";
  }
  return undefined;
}

type ReadCertificate = Pick<X509Certificate, "raw" | "validTo"> & { readonly publicKeyInfo: Buffer };

/** Undefined also for unsupported types of keys. */
function readCertificate(pem: string): ReadCertificate | undefined {
  try {
    const { raw, validTo, publicKey } = new X509Certificate(pem);
    return { raw, validTo, publicKeyInfo: publicKeyInfoOf(publicKey) };
  } catch {
    return undefined;
  }
}

const publicKeyInfoOf = (key: KeyObject): Buffer => key.export({ type: "spki", format: "der" });

/** From the DER: printed names have been misinterpreted before (CVE-2021-44533). */
function readSubject({ raw }: ReadCertificate): CertificateSubject | { readonly fault: string } {
  try {
    return readCertificateSubject(raw);
  } catch (error) {
    if (error instanceof DerError) return { fault: `its subject or extensions cannot be read: ${error.message}` };
    throw error;
  }
}

export function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  const left = new Set(one);
  const right = new Set(other);
  return left.size === right.size && [...left].every((member) => right.has(member));
}

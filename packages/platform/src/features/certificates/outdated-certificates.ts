// The certificates that the rotation of a CA makes invalid, as its status lists them.

import type { OutdatedItem } from "@postern/api/certificate-authority";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CertificateLedger } from "./certificate-ledger.ts";
import type { IssuedCertificate } from "./issued-certificate.ts";

/** Those that are accepted now, in steps: there may be thousands, and each goes back to several keys. */
export function* outdatedCertificates(
  certificates: readonly IssuedCertificate[],
  isOutdated: (certificate: IssuedCertificate) => boolean,
  { refusalOf }: Pick<CertificateLedger, "refusalOf">,
): Steps<readonly IssuedCertificate[]> {
  const found: IssuedCertificate[] = [];
  for (const certificate of certificates) {
    yield;
    const { serial, instanceUid } = certificate;
    if (isOutdated(certificate) && refusalOf(serial, instanceUid) === undefined) found.push(certificate);
  }
  return found;
}

export const outdatedItem = ({ serial, commonName, issuedTo, notAfter }: IssuedCertificate): OutdatedItem => ({
  kind: "Certificate",
  id: `serial:${serial}`,
  subject: commonName,
  ...(issuedTo === undefined ? {} : { owner: `${issuedTo.owner.kind}/${issuedTo.owner.name}` }),
  expirationTimestamp: formatTimestamp(notAfter),
});

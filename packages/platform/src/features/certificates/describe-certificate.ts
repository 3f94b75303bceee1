// Reads from a certificate the facts that the ledger keeps.

import { X509Certificate } from "node:crypto";
import { readCertificateSubject } from "@postern/apiserver/x509/certificate";
import { commonNameIn } from "../../foundation/pki/common-name.ts";
import type { IssuedCertificate } from "./issued-certificate.ts";

/** `instanceUid` is that of the virtual cluster whose authority signed it; `issuedAt` in milliseconds since the epoch. */
export function describeCertificate(pem: string, instanceUid: string, issuedAt: number): IssuedCertificate {
  const certificate = new X509Certificate(pem);
  const { commonName, organizations } = readCertificateSubject(certificate.raw);
  return {
    serial: certificate.serialNumber,
    commonName,
    organizations,
    issuedAt,
    notAfter: Date.parse(certificate.validTo),
    instanceUid,
    issuer: commonNameIn(certificate.issuer),
  };
}

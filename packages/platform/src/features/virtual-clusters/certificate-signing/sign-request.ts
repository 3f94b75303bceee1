// The signer kubernetes.io/kube-apiserver-client: the certificate for one approved request.
// Source: k8s.io/kubernetes/pkg/controller/certificates/signer/signer.go

import { createHash } from "node:crypto";
import { GROUP_MASTERS } from "@postern/apiserver/authentication/user-info";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { serialOf } from "@postern/apiserver/x509/certificate-builder";
import type { CertificateSigningRequest } from "@postern/kubernetes/builtin/certificates/certificate-signing-request";
import type { CertificateAuthority } from "../../../foundation/pki/certificate-authority.ts";
import { CertificateRequestError, parseCertificateRequest } from "../../../foundation/pki/certificate-request.ts";
import { type SignedCertificate, signClientCertificate } from "../../../foundation/pki/sign-client-certificate.ts";

/** The usual cluster-signing-duration: requests without expirationSeconds get it, and no request gets more. */
export const SIGNING_DURATION_SECONDS = 365 * 86_400;
const MIN_EXPIRATION_SECONDS = 600;

export type SignOutcome =
  | { readonly certificatePem: string }
  /** The request can never be signed; the message is for its sender. */
  | { readonly failure: string };

/**
 * Takes over the public key, the common name, the organizations and the names of subjectAltName; the signer sets everything else in the
 * certificate, whatever other extensions are asked for. The validity is that of the request, at least 10 minutes, at most a year, and never
 * beyond that of the CA.
 */
export function signRequest(
  { metadata, spec }: CertificateSigningRequest,
  authority: CertificateAuthority,
  runtime: Pick<Runtime, "clock" | "random">,
): SignOutcome {
  const usageFault = checkUsages(spec?.usages ?? []);
  if (usageFault !== undefined) return { failure: usageFault };
  try {
    const { publicKey, subject, alternativeNames, hasOtherSubjectAttributes } = parseCertificateRequest(
      Buffer.from(spec?.request ?? "", "base64").toString("latin1"),
    );
    if (subject.commonName === "") return { failure: "the subject of the request has no common name" };
    if (hasOtherSubjectAttributes) {
      return { failure: "the subject may have only a common name and organizations" };
    }
    if (subject.organizations.includes(GROUP_MASTERS)) return { failure: `${GROUP_MASTERS} is not supported` };
    const publicKeyInfo = publicKey.export({ type: "spki", format: "der" });
    const expirationSeconds = Math.min(spec?.expirationSeconds ?? SIGNING_DURATION_SECONDS, SIGNING_DURATION_SECONDS);
    const serial = serialFor(metadata.uid ?? "", authority);
    const signed = { ...subject, alternativeNames, publicKeyInfo, expirationSeconds, serial };
    return { certificatePem: signSubject(signed, authority, runtime).pem };
  } catch (error) {
    if (error instanceof CertificateRequestError) return { failure: error.message };
    throw error;
  }
}

export type SignedSubject = {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** GeneralNames as DER. */
  readonly alternativeNames?: readonly Uint8Array[];
  /** SubjectPublicKeyInfo as DER. */
  readonly publicKeyInfo: Uint8Array;
  /** 10 minutes at least; undefined: the signer's own duration. */
  readonly expirationSeconds: number | undefined;
  /** In milliseconds since the epoch. The certificate ends before it, however long the request has waited. Default: none. */
  readonly latestEnd?: number | undefined;
  /** Default: a random one. */
  readonly serial?: Uint8Array;
};

/** Signs a subject and a key, from a valid request. */
export function signSubject(
  { expirationSeconds = SIGNING_DURATION_SECONDS, latestEnd = Infinity, ...subject }: SignedSubject,
  authority: CertificateAuthority,
  { clock, random }: Pick<Runtime, "clock" | "random">,
): SignedCertificate {
  const wanted = clock.now() + Math.max(expirationSeconds, MIN_EXPIRATION_SECONDS) * 1000;
  const notAfter = Math.min(wanted, latestEnd);
  return signClientCertificate({ ...subject, authority, notAfter, clock, random });
}

/**
 * Every server that runs a cluster signs its requests, and one of the certificates is delivered: with one serial they are one in the list of credentials, and
 * are revoked together.
 */
const serialFor = (uid: string, { certificatePem }: CertificateAuthority): Uint8Array =>
  serialOf(createHash("sha256").update(`${uid} ${certificatePem}`).digest());

const REQUIRED_USAGE = "client auth";
const ALLOWED_USAGES: readonly string[] = [REQUIRED_USAGE, "digital signature", "key encipherment"];

function checkUsages(usages: readonly string[]): string | undefined {
  if (!usages.includes(REQUIRED_USAGE)) return `usages must contain ${JSON.stringify(REQUIRED_USAGE)}`;
  const refused = usages.find((usage) => !ALLOWED_USAGES.includes(usage));
  return refused === undefined ? undefined : `usage ${JSON.stringify(refused)} is not granted to clients`;
}

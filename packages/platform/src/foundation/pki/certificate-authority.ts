// A certificate authority: creates it, and reads it from its certificate and key.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from "node:crypto";
import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import { readAuthorityFields } from "@postern/apiserver/x509/certificate";
import {
  AUTHORITY_CONSTRAINTS,
  buildCertificate,
  encodeExtension,
  randomSerial,
} from "@postern/apiserver/x509/certificate-builder";
import { derImplicit, derOctetString, derSequence } from "@postern/apiserver/x509/der";
import { encodeDistinguishedName } from "@postern/apiserver/x509/distinguished-name";
import { OID } from "@postern/apiserver/x509/object-identifiers";
import { encodePem } from "@postern/apiserver/x509/pem";

/** Room for the clocks of others: what we sign is valid from a little before now. Kubernetes' signer uses the same. */
export const CLOCK_SKEW_MS = 5 * 60_000;
const AUTHORITY_LIFETIME_MS = 10 * 365 * 86_400_000;
/** Clients refuse an authority before its beginning, and it is not replaced: one that was made while the clock was months ahead is valid all the same. */
const AUTHORITY_SKEW_MS = 365 * 86_400_000;

export type CertificateAuthority = {
  readonly certificatePem: string;
  /** PKCS #8. Secret. */
  readonly privateKeyPem: string;
  readonly certificate: X509Certificate;
  readonly signingKey: KeyObject;
  /** The authority's Name as it stands in its certificate: what it signs must name it octet by octet. */
  readonly subject: Uint8Array;
  /** The extension that names the authority's key in what it signs; empty for an authority without a key identifier. */
  readonly authorityKeyIdentifier: readonly Uint8Array[];
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
};

/** A new self-signed authority, valid for ten years by default. */
export function createCertificateAuthority(options: {
  readonly commonName: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly lifetimeMs?: number;
  /** An EC P-256 private key to certify; absent means a new one. */
  readonly privateKey?: KeyObject;
}): CertificateAuthority {
  const { commonName, clock, random, lifetimeMs = AUTHORITY_LIFETIME_MS } = options;
  const privateKey = options.privateKey ?? generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey;
  const publicKeyInfo = createPublicKey(privateKey).export({ type: "spki", format: "der" });
  const name = encodeDistinguishedName({ commonName, organizations: [] });
  const now = clock.now();
  const der = buildCertificate(
    {
      serial: randomSerial(random),
      issuer: name,
      subject: name,
      publicKeyInfo,
      notBefore: now - AUTHORITY_SKEW_MS,
      notAfter: now + lifetimeMs,
      extensions: [
        ...AUTHORITY_CONSTRAINTS,
        encodeExtension(OID.subjectKeyIdentifier, derOctetString(keyIdentifier(publicKeyInfo))),
      ],
    },
    privateKey,
  );
  return authorityFromPem(
    encodePem("CERTIFICATE", der),
    privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  );
}

/**
 * An authority from its two files. Throws an Error whose message says what is wrong with them: not a certificate, not a
 * private key, not an authority, not an EC key, or not a pair.
 */
export function authorityFromPem(certificatePem: string, privateKeyPem: string): CertificateAuthority {
  const certificate = parseOr("it is not a PEM certificate", () => new X509Certificate(certificatePem));
  const signingKey = parseOr("its private key is not a PEM private key", () => createPrivateKey(privateKeyPem));
  if (!certificate.ca) throw new Error("it is not a CA certificate");
  if (signingKey.asymmetricKeyType !== "ec") throw new Error("its private key is not an EC key");
  if (!certificate.checkPrivateKey(signingKey)) throw new Error("certificate and private key do not match");
  const { subject, subjectKeyIdentifier } = readAuthorityFields(certificate.raw);
  return {
    certificatePem,
    privateKeyPem,
    certificate,
    signingKey,
    subject,
    authorityKeyIdentifier:
      subjectKeyIdentifier === undefined
        ? []
        : [encodeExtension(OID.authorityKeyIdentifier, derSequence(derImplicit(0, subjectKeyIdentifier)))],
    notBefore: Date.parse(certificate.validFrom),
    notAfter: Date.parse(certificate.validTo),
  };
}

function parseOr<T>(fault: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new Error(fault, { cause });
  }
}

/** RFC 5280 section 4.2.1.2, method 1 taken over the whole key info, which is as unique. */
const keyIdentifier = (publicKeyInfo: Uint8Array): Uint8Array => createHash("sha1").update(publicKeyInfo).digest();

// A certificate authority, and the client certificates that it signs. Only the public key comes from the requester.

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
  CLIENT_CONSTRAINTS,
  encodeExtension,
  formatSerial,
  randomSerial,
} from "@postern/apiserver/x509/certificate-builder";
import { derImplicit, derOctetString, derSequence } from "@postern/apiserver/x509/der";
import { encodeDistinguishedName } from "@postern/apiserver/x509/distinguished-name";
import { OID } from "@postern/apiserver/x509/object-identifiers";
import { encodePem } from "@postern/apiserver/x509/pem";

/** Room for the clocks of others: what we sign is valid from a little before now. Kubernetes' signer uses the same. */
export const CLOCK_SKEW_MS = 5 * 60_000;
const AUTHORITY_LIFETIME_MS = 10 * 365 * 86_400_000;

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

export type AuthorityOptions = {
  readonly commonName: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly lifetimeMs?: number;
  /** An EC P-256 private key to certify; absent means a new one. */
  readonly privateKey?: KeyObject;
};

/** A new self-signed authority, valid for ten years unless told otherwise. */
export function createCertificateAuthority(options: AuthorityOptions): CertificateAuthority {
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
      notBefore: now - CLOCK_SKEW_MS,
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

// Signs client certificates: who the bearer is comes from us alone, only the public key from outside.

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

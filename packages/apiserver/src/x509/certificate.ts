// Reads the subject of a certificate from its DER, and not from a printed form.
// Source: RFC 5280, section 4.1; Go's crypto/x509/pkix/pkix.go (FillFromRDNSequence)

import {
  DER,
  type DerElement,
  DerError,
  decodeDerText,
  decodeOid,
  expectElement,
  expectTag,
  readDerElements,
  readSingleDerElement,
} from "./der.ts";
import { readRelativeNames } from "./distinguished-name.ts";
import { OID } from "./object-identifiers.ts";

export type CertificateSubject = {
  /** "" when the subject has none. */
  readonly commonName: string;
  /** Every organization, in the order of the certificate, also those that share a multi-valued RDN. */
  readonly organizations: readonly string[];
  /** Whether the subject has attributes beside the two. */
  readonly hasOtherAttributes: boolean;
  /** Object identifiers; undefined when the certificate has no such extension. */
  readonly extendedKeyUsages: readonly string[] | undefined;
  readonly isCertificateAuthority: boolean;
};

const TAG_VERSION = 0xa0;
const TAG_EXTENSIONS = 0xa3;

/** Throws DerError on anything that is not exactly a version 3 certificate, and on a subject with two common names. */
export function readCertificateSubject(certificate: Uint8Array): CertificateSubject {
  const { version, subject, extensions } = readFields(certificate);
  expectTag(version, TAG_VERSION);
  const attributes = readRelativeNames(subject.content);
  const commonNames = attributes.filter(({ type }) => type === OID.commonName);
  if (commonNames.length > 1) throw new DerError("subject has more than one common name");
  return {
    commonName: commonNames[0] === undefined ? "" : decodeDerText(commonNames[0].value),
    organizations: attributes.filter(({ type }) => type === OID.organization).map(({ value }) => decodeDerText(value)),
    hasOtherAttributes: attributes.some(({ type }) => type !== OID.commonName && type !== OID.organization),
    extendedKeyUsages: readKeyUsages(extensions.get(OID.extendedKeyUsage)),
    isCertificateAuthority: readIsAuthority(extensions.get(OID.basicConstraints)),
  };
}

export type AuthorityFields = {
  /** The Name as it stands in the certificate: what the authority signs must name it octet by octet. */
  readonly subject: Uint8Array;
  readonly subjectKeyIdentifier: Uint8Array | undefined;
};

/** Fields that node:crypto gives only as printed text. Throws DerError on anything that is not a certificate. */
export function readAuthorityFields(certificate: Uint8Array): AuthorityFields {
  const { subject, extensions } = readFields(certificate);
  const identifier = extensions.get(OID.subjectKeyIdentifier);
  return {
    subject: subject.bytes,
    subjectKeyIdentifier: identifier && readSingleDerElement(identifier, DER.octetString),
  };
}

type CertificateFields = {
  /** Undefined in a version 1 certificate. */
  readonly version: DerElement | undefined;
  readonly subject: DerElement;
  /** Values of the extensions by object identifier. */
  readonly extensions: ReadonlyMap<string, Uint8Array>;
};

function readFields(certificate: Uint8Array): CertificateFields {
  const [tbs] = readDerElements(readSingleDerElement(certificate, DER.sequence));
  const fields = readDerElements(expectTag(tbs, DER.sequence));
  const version = fields[0]?.tag === TAG_VERSION ? fields[0] : undefined;
  // serialNumber, signature, issuer, validity, subject, subjectPublicKeyInfo, then optional ones
  const rest = version === undefined ? fields : fields.slice(1);
  return {
    version,
    subject: expectElement(rest[4], DER.sequence),
    extensions: readExtensions(rest.slice(6).find(({ tag }) => tag === TAG_EXTENSIONS)),
  };
}

function readExtensions(element: DerElement | undefined): ReadonlyMap<string, Uint8Array> {
  const extensions = new Map<string, Uint8Array>();
  if (element === undefined) return extensions;
  for (const extension of readDerElements(readSingleDerElement(element.content, DER.sequence))) {
    const parts = readDerElements(expectTag(extension, DER.sequence));
    const id = decodeOid(expectTag(parts[0], DER.oid));
    if (extensions.has(id)) throw new DerError(`extension ${id} is there twice`);
    extensions.set(id, expectTag(parts.at(-1), DER.octetString));
  }
  return extensions;
}

const readKeyUsages = (value: Uint8Array | undefined): readonly string[] | undefined =>
  value === undefined
    ? undefined
    : readDerElements(readSingleDerElement(value, DER.sequence)).map((usage) => decodeOid(expectTag(usage, DER.oid)));

function readIsAuthority(value: Uint8Array | undefined): boolean {
  if (value === undefined) return false;
  const [first] = readDerElements(readSingleDerElement(value, DER.sequence));
  return first?.tag === DER.boolean && first.content[0] !== 0;
}

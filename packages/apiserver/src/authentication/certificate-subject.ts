// What a client certificate says about its holder, read from its DER and never from a printed form.
// Source: RFC 5280, section 4.1; Go's crypto/x509/pkix/pkix.go (FillFromRDNSequence)

import {
  DER,
  type DerElement,
  DerError,
  decodeDerText,
  decodeOid,
  expectTag,
  readDerElements,
  readSingleDerElement,
} from "./der-reader.ts";

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

export const EXTENDED_KEY_USAGE_CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";

const OID_COMMON_NAME = "2.5.4.3";
export const OID_ORGANIZATION = "2.5.4.10";
const OID_BASIC_CONSTRAINTS = "2.5.29.19";
const OID_EXTENDED_KEY_USAGE = "2.5.29.37";
const TAG_VERSION = 0xa0;
const TAG_EXTENSIONS = 0xa3;

/** Throws DerError on anything that is not exactly a version 3 certificate, and on a subject with two common names. */
export function readCertificateSubject(certificate: Uint8Array): CertificateSubject {
  const [tbs] = readDerElements(readSingleDerElement(certificate, DER.sequence));
  const fields = readDerElements(expectTag(tbs, DER.sequence));
  expectTag(fields[0], TAG_VERSION);
  // version, serialNumber, signature, issuer, validity, subject, subjectPublicKeyInfo, then optional ones
  const attributes = readRelativeNames(expectTag(fields[5], DER.sequence));
  const commonNames = attributes.filter(({ type }) => type === OID_COMMON_NAME);
  if (commonNames.length > 1) throw new DerError("subject has more than one common name");
  const extensions = readExtensions(fields.slice(7).find(({ tag }) => tag === TAG_EXTENSIONS));
  return {
    commonName: commonNames[0] === undefined ? "" : decodeDerText(commonNames[0].value),
    organizations: attributes.filter(({ type }) => type === OID_ORGANIZATION).map(({ value }) => decodeDerText(value)),
    hasOtherAttributes: attributes.some(({ type }) => type !== OID_COMMON_NAME && type !== OID_ORGANIZATION),
    extendedKeyUsages: readKeyUsages(extensions.get(OID_EXTENDED_KEY_USAGE)),
    isCertificateAuthority: readIsAuthority(extensions.get(OID_BASIC_CONSTRAINTS)),
  };
}

/** `type` is an object identifier. */
export type SubjectAttribute = { readonly type: string; readonly value: DerElement };

/** The attributes of a name, in order, also those that share a multi-valued RDN. `content` is that of the RDNSequence. */
export const readRelativeNames = (content: Uint8Array): readonly SubjectAttribute[] =>
  readDerElements(content).flatMap(readRelativeName);

function readRelativeName(element: DerElement): readonly SubjectAttribute[] {
  const attributes = readDerElements(expectTag(element, DER.set));
  if (attributes.length === 0) throw new DerError("empty relative name");
  return attributes.map((attribute) => {
    const [type, value, ...rest] = readDerElements(expectTag(attribute, DER.sequence));
    if (value === undefined || rest.length > 0) throw new DerError("attribute is not a pair");
    return { type: decodeOid(expectTag(type, DER.oid)), value };
  });
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

// The subject of a certificate: common name and organizations, which Kubernetes reads as user and groups.
// Source: RFC 5280 section 4.1.2.4; k8s.io/apiserver/pkg/authentication/request/x509/x509.go (CommonNameUserConversion)

import {
  DER,
  type DerElement,
  DerError,
  decodeDerText,
  decodeOid,
  derObjectIdentifier,
  derSequence,
  derSet,
  derUtf8String,
  expectTag,
  readDerElements,
} from "./der.ts";
import { OID } from "./object-identifiers.ts";

export type DistinguishedName = { readonly commonName: string; readonly organizations: readonly string[] };

/**
 * One attribute per relative name. Several attributes in one relative name are legal, but have been read wrongly by
 * printers of certificates before (CVE-2021-44533).
 */
export function encodeDistinguishedName({ commonName, organizations }: DistinguishedName): Uint8Array {
  return derSequence(
    ...organizations.map((organization) => encodeAttribute(OID.organization, organization)),
    encodeAttribute(OID.commonName, commonName),
  );
}

const encodeAttribute = (oid: string, value: string): Uint8Array =>
  derSet(derSequence(derObjectIdentifier(oid), derUtf8String(value)));

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

/**
 * Reads a Name. The last common name counts, as in Go; `hasOtherAttributes` is true for any attribute but the two, and for text in another
 * encoding than UTF8String, PrintableString and IA5String. Throws DerError.
 */
export function decodeDistinguishedName(
  name: DerElement,
): DistinguishedName & { readonly hasOtherAttributes: boolean } {
  let commonName = "";
  const organizations: string[] = [];
  let hasOtherAttributes = false;
  for (const { type, value } of readRelativeNames(expectTag(name, DER.sequence))) {
    const isRead = TEXT_TAGS.has(value.tag);
    if (isRead && type === OID.commonName) commonName = decodeDerText(value);
    else if (isRead && type === OID.organization) organizations.push(decodeDerText(value));
    else hasOtherAttributes = true;
  }
  return { commonName, organizations, hasOtherAttributes };
}

const TEXT_TAGS: ReadonlySet<number> = new Set([DER.utf8String, DER.printableString, DER.ia5String]);

// The subject of a certificate: a common name and organizations, which Kubernetes reads as user and groups.
// Source: RFC 5280 section 4.1.2.4; k8s.io/apiserver/pkg/authentication/request/x509/x509.go (CommonNameUserConversion)

import { type DerElement, readDerElements, readObjectIdentifier } from "@postern/apiserver/authentication/der-reader";
import { derObjectIdentifier, derSequence, derSet, derUtf8String } from "./der.ts";
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

/**
 * Reads a Name. The last common name counts, as in Go. Attributes other than the two are left out and told by
 * `hasOtherAttributes`.
 */
export function decodeDistinguishedName(
  name: DerElement,
): DistinguishedName & { readonly hasOtherAttributes: boolean } {
  let commonName = "";
  const organizations: string[] = [];
  let hasOtherAttributes = false;
  for (const relativeName of readDerElements(name.content)) {
    for (const attribute of readDerElements(relativeName.content)) {
      const [type, value] = readDerElements(attribute.content);
      const oid = type === undefined ? undefined : readObjectIdentifier(type);
      const text = value === undefined ? undefined : readString(value);
      if (oid === OID.commonName && text !== undefined) commonName = text;
      else if (oid === OID.organization && text !== undefined) organizations.push(text);
      else hasOtherAttributes = true;
    }
  }
  return { commonName, organizations, hasOtherAttributes };
}

/** UTF8String, PrintableString and IA5String; undefined for the encodings nobody uses any more. */
function readString({ tag, content }: DerElement): string | undefined {
  if (tag !== 0x0c && tag !== 0x13 && tag !== 0x16) return undefined;
  return Buffer.from(content).toString("utf8");
}

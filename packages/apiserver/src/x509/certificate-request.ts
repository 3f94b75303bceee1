// Reads the structure of a PKCS #10 certificate request. Callers check subject and signature.
// Source: RFC 2986, section 4; k8s.io/kubernetes/pkg/apis/certificates/helpers.go (ParseCSR)

import {
  DER,
  type DerElement,
  DerError,
  expectElement,
  expectTag,
  readDerElements,
  readObjectIdentifier,
  readSingleDerElement,
} from "./der.ts";
import { OID } from "./object-identifiers.ts";
import { decodePem } from "./pem.ts";

export type CertificateRequestParts = {
  /** The signed bytes. */
  readonly signed: Uint8Array;
  readonly algorithm: DerElement;
  /** The content of the bit string. */
  readonly signature: Uint8Array;
  /** A Name: see `distinguished-name.ts`. */
  readonly subject: DerElement;
  readonly publicKeyInfo: DerElement;
  /** Object identifiers of the extensions that the sender asks for. */
  readonly requestedExtensions: readonly string[];
  /** The value of the extension subjectAltName that the sender asks for, as DER. */
  readonly requestedNames?: Uint8Array | undefined;
};

/** Throws DerError for anything that is not a request. */
export function readCertificateRequest(request: Uint8Array): CertificateRequestParts {
  const [info, algorithm, signature, ...rest] = readDerElements(readSingleDerElement(request, DER.sequence));
  const parts = {
    algorithm: expectElement(algorithm, DER.sequence),
    signature: expectTag(signature, DER.bitString),
    signed: expectElement(info, DER.sequence),
  };
  if (rest.length > 0) throw new DerError("data after the signature");
  const [version, subject, publicKeyInfo, attributes] = readDerElements(parts.signed.content);
  expectTag(version, DER.integer);
  return {
    ...parts,
    signed: parts.signed.bytes,
    subject: expectElement(subject, DER.sequence),
    publicKeyInfo: expectElement(publicKeyInfo, DER.sequence),
    ...readRequestedExtensions(attributes),
  };
}

/** `request` is the base64 of PEM text, as in `spec.request`. Throws DerError when there is no well-formed request in it. */
export function readEncodedCertificateRequest(request: string): CertificateRequestParts {
  const der = decodePem("CERTIFICATE REQUEST", Buffer.from(request, "base64").toString("latin1"));
  if (der === undefined) throw new DerError("PEM block type must be CERTIFICATE REQUEST");
  return readCertificateRequest(der);
}

function readRequestedExtensions(
  attributes: DerElement | undefined,
): Pick<CertificateRequestParts, "requestedExtensions" | "requestedNames"> {
  const requestedExtensions: string[] = [];
  let requestedNames: Uint8Array | undefined;
  for (const attribute of attributes === undefined ? [] : readDerElements(attributes.content)) {
    const [type, values] = readDerElements(attribute.content);
    if (type === undefined || values === undefined || readObjectIdentifier(type) !== OID.extensionRequest) continue;
    for (const extension of readDerElements(values.content).flatMap(({ content }) => readDerElements(content))) {
      const [identifier, ...parts] = readDerElements(extension.content);
      const oid = (identifier && readObjectIdentifier(identifier)) ?? "";
      requestedExtensions.push(oid);
      // A flag may come before the value. The first extension counts: a certificate has one of each.
      if (oid === OID.subjectAlternativeName) requestedNames ??= expectTag(parts.at(-1), DER.octetString);
    }
  }
  return { requestedExtensions, requestedNames };
}

// Reads a PKCS #10 certificate request as far as the API has to know it.
// Source: RFC 2986, section 4; k8s.io/kubernetes/pkg/apis/certificates/helpers.go (ParseCSR)

import { readRelativeNames, type SubjectAttribute } from "../../authentication/certificate-subject.ts";
import { DER, DerError, expectTag, readDerElements, readSingleDerElement } from "../../authentication/der-reader.ts";

const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END ([A-Z0-9 ]+)-----/;

/** `request` is the base64 of PEM text, as in spec.request. Throws DerError when there is no well-formed request in it. */
export function readCertificateRequest(request: string): { readonly subject: readonly SubjectAttribute[] } {
  const [, type, body, end] = PEM_BLOCK.exec(Buffer.from(request, "base64").toString("latin1")) ?? [];
  if (type !== "CERTIFICATE REQUEST" || end !== type || body === undefined) {
    throw new DerError("PEM block type must be CERTIFICATE REQUEST");
  }
  const [info, algorithm, signature, ...rest] = readDerElements(
    readSingleDerElement(Buffer.from(body, "base64"), DER.sequence),
  );
  expectTag(algorithm, DER.sequence);
  expectTag(signature, DER.bitString);
  if (rest.length > 0) throw new DerError("data after the signature");
  const [version, subject, publicKey] = readDerElements(expectTag(info, DER.sequence));
  expectTag(version, DER.integer);
  expectTag(publicKey, DER.sequence);
  return { subject: readRelativeNames(expectTag(subject, DER.sequence)) };
}

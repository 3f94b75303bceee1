// Certificate signing requests: parses those of others without trusting them, and creates our own.
// Source: RFC 2986 section 4

import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { type CertificateRequestParts, readCertificateRequest } from "@postern/apiserver/x509/certificate-request";
import {
  DER,
  type DerElement,
  DerError,
  derBitString,
  derElement,
  derInteger,
  derObjectIdentifier,
  derSequence,
  expectTag,
  readDerElements,
  readObjectIdentifier,
  readSingleDerElement,
} from "@postern/apiserver/x509/der";
import {
  type DistinguishedName,
  decodeDistinguishedName,
  encodeDistinguishedName,
} from "@postern/apiserver/x509/distinguished-name";
import { OID } from "@postern/apiserver/x509/object-identifiers";
import { decodePem, encodePem } from "@postern/apiserver/x509/pem";

const MAX_REQUEST_LENGTH = 64 * 1024;
const MIN_RSA_BITS = 2048;
/** Above this, checking one signature costs more than an unknown sender may spend. */
const MAX_RSA_BITS = 8192;
const MIN_RSA_EXPONENT = 65537n;
const CURVES: ReadonlySet<string | undefined> = new Set(["prime256v1", "secp384r1", "secp521r1"]);

/** Digest and key type of each signature algorithm that we check; SHA-1 and older are missing on purpose. */
const SIGNATURE_ALGORITHMS: { readonly [oid: string]: { readonly digest: string | null; readonly keyType: string } } = {
  [OID.ecdsaWithSha256]: { digest: "sha256", keyType: "ec" },
  [OID.ecdsaWithSha384]: { digest: "sha384", keyType: "ec" },
  [OID.ecdsaWithSha512]: { digest: "sha512", keyType: "ec" },
  [OID.sha256WithRsa]: { digest: "sha256", keyType: "rsa" },
  [OID.sha384WithRsa]: { digest: "sha384", keyType: "rsa" },
  [OID.sha512WithRsa]: { digest: "sha512", keyType: "rsa" },
  [OID.ed25519]: { digest: null, keyType: "ed25519" },
};

export type CertificateRequest = {
  /** As it was sent: signers of other clusters read it themselves. */
  readonly pem: string;
  readonly publicKey: KeyObject;
  /** Name that the sender gives itself: compare it with the allowed ones, never sign it unread. */
  readonly subject: DistinguishedName;
  readonly hasOtherSubjectAttributes: boolean;
  /** Object identifiers of the extensions that the sender asks for. */
  readonly requestedExtensions: readonly string[];
  /** DNS names, e-mail addresses, IP addresses and URIs of the extension subjectAltName, each as the DER of a GeneralName. */
  readonly alternativeNames: readonly Uint8Array[];
};

export class CertificateRequestError extends Error {
  override readonly name = "CertificateRequestError";
}

/**
 * Reads a PEM request, having checked its signature by its own key and that this key is worth signing.
 * Throws CertificateRequestError, whose message may be shown to the sender.
 */
export function parseCertificateRequest(pem: string): CertificateRequest {
  if (pem.length > MAX_REQUEST_LENGTH) throw new CertificateRequestError("the certificate request is too large");
  const der = decodePem("CERTIFICATE REQUEST", pem);
  if (der === undefined) throw new CertificateRequestError("PEM block type must be CERTIFICATE REQUEST");
  try {
    return { pem, ...readRequest(der) };
  } catch (error) {
    if (error instanceof DerError) {
      throw new CertificateRequestError(`the certificate request is malformed: ${error.message}`, { cause: error });
    }
    throw error;
  }
}

function readRequest(der: Uint8Array): Omit<CertificateRequest, "pem"> {
  const request = readCertificateRequest(der);
  const publicKey = readPublicKey(request.publicKeyInfo);
  checkProofOfPossession(request, publicKey);
  const { commonName, organizations, hasOtherAttributes } = decodeDistinguishedName(request.subject);
  return {
    publicKey,
    subject: { commonName, organizations },
    hasOtherSubjectAttributes: hasOtherAttributes,
    requestedExtensions: request.requestedExtensions,
    alternativeNames: request.requestedNames === undefined ? [] : readAlternativeNames(request.requestedNames),
  };
}

/** In the order in which Go writes them. Other kinds of names are left out, as Go does. */
const NAME_TAGS = { dns: 0x82, email: 0x81, ip: 0x87, uri: 0x86 } as const;

/** Throws CertificateRequestError for names that no certificate may have. Source: Go's crypto/x509/parser.go (parseSANExtension) */
function readAlternativeNames(extension: Uint8Array): readonly Uint8Array[] {
  const names = readDerElements(readSingleDerElement(extension, DER.sequence));
  const { ip, ...texts } = NAME_TAGS;
  for (const { tag, content } of names) {
    if (tag === ip && content.length !== 4 && content.length !== 16)
      throw new CertificateRequestError("the certificate request has an IP address of a wrong length");
    const isText = (Object.values(texts) as readonly number[]).includes(tag);
    if (isText && !content.every((octet) => octet > 0x20 && octet < 0x7f))
      throw new CertificateRequestError("the certificate request has a name with characters that are not allowed");
  }
  return Object.values(NAME_TAGS).flatMap((tag) => names.filter((name) => name.tag === tag).map(({ bytes }) => bytes));
}

function readPublicKey(publicKeyInfo: DerElement): KeyObject {
  let key: KeyObject;
  try {
    key = createPublicKey({ key: Buffer.from(publicKeyInfo.bytes), format: "der", type: "spki" });
  } catch (cause) {
    throw new CertificateRequestError("the public key of the certificate request cannot be read", { cause });
  }
  const [algorithm] = readDerElements(expectTag(publicKeyInfo, DER.sequence));
  const parameters = algorithm === undefined ? undefined : readDerElements(expectTag(algorithm, DER.sequence))[1];
  if (key.asymmetricKeyType === "ec" && parameters?.tag !== DER.oid) {
    // OpenSSL recognises a known curve in explicit parameters, and would write the parameters into what we sign.
    throw new CertificateRequestError("the public key is refused: its curve must be given by name");
  }
  const weakness = findWeakness(key);
  if (weakness !== undefined) throw new CertificateRequestError(`the public key is refused: ${weakness}`);
  return key;
}

/** Why a public key is not worth signing; undefined when it is. */
export function findWeakness(key: KeyObject): string | undefined {
  const { modulusLength = 0, publicExponent = 0n, namedCurve } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case "ed25519":
      return undefined;
    case "ec":
      return CURVES.has(namedCurve) ? undefined : "the curve must be one of P-256, P-384, P-521";
    case "rsa":
      if (modulusLength < MIN_RSA_BITS || modulusLength > MAX_RSA_BITS) {
        return `an RSA key must have ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits`;
      }
      return publicExponent < MIN_RSA_EXPONENT || publicExponent % 2n === 0n
        ? `the RSA exponent must be odd and at least ${MIN_RSA_EXPONENT}`
        : undefined;
    default:
      return "the key must be EC, RSA or Ed25519";
  }
}

function checkProofOfPossession(request: CertificateRequestParts, publicKey: KeyObject): void {
  const { signed, algorithm, signature } = request;
  const [oid] = readDerElements(expectTag(algorithm, DER.sequence));
  const known = SIGNATURE_ALGORITHMS[(oid && readObjectIdentifier(oid)) ?? ""];
  if (known === undefined || known.keyType !== publicKey.asymmetricKeyType) {
    throw new CertificateRequestError("the signature algorithm of the certificate request is not accepted");
  }
  const [unusedBits] = signature;
  if (unusedBits !== 0 || !verify(known.digest, signed, publicKey, signature.subarray(1))) {
    throw new CertificateRequestError("the certificate request is not signed by its own key");
  }
}

/**
 * A PEM request for a subject, signed by an EC private key, as the CertificateSigningRequest API takes it. A caller that has the public key at
 * hand saves finding it again, which costs as much as a signature.
 */
export function createCertificateRequest(
  privateKey: KeyObject,
  subject: DistinguishedName,
  publicKey: KeyObject = createPublicKey(privateKey),
): string {
  const info = derSequence(
    derInteger(Uint8Array.of(0)),
    encodeDistinguishedName(subject),
    publicKey.export({ type: "spki", format: "der" }),
    derElement(0xa0, []),
  );
  return encodePem(
    "CERTIFICATE REQUEST",
    derSequence(
      info,
      derSequence(derObjectIdentifier(OID.ecdsaWithSha256)),
      derBitString(sign("sha256", info, privateKey)),
    ),
  );
}

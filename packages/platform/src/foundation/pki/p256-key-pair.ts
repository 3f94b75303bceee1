// Creates P-256 key pairs that are issued and not kept, directly as PEM and DER: key objects of OpenSSL would take four times as long.
// Source: RFC 5915 section 3, RFC 5480 section 2, RFC 5208 section 5

import { createECDH } from "node:crypto";
import {
  derBitString,
  derExplicit,
  derInteger,
  derObjectIdentifier,
  derOctetString,
  derSequence,
} from "@postern/apiserver/x509/der";
import { OID } from "@postern/apiserver/x509/object-identifiers";
import { encodePem } from "@postern/apiserver/x509/pem";

export type KeyPairTexts = {
  /** PKCS #8. */
  readonly privateKeyPem: string;
  /** SubjectPublicKeyInfo as DER. */
  readonly publicKeyInfo: Uint8Array;
};

const SCALAR_OCTETS = 32;
const VERSION_0 = derInteger(Uint8Array.of(0));
const VERSION_1 = derInteger(Uint8Array.of(1));
const EC_ON_P256 = derSequence(derObjectIdentifier(OID.ecPublicKey), derObjectIdentifier(OID.p256));

export function makeKeyPair(): KeyPairTexts {
  const pair = createECDH("prime256v1");
  const point = derBitString(pair.generateKeys());
  const scalar = pair.getPrivateKey();
  // Zeros in front are missing.
  const padded = Buffer.concat([Buffer.alloc(SCALAR_OCTETS - scalar.length), scalar]);
  const key = derSequence(VERSION_1, derOctetString(padded), derExplicit(1, point));
  return {
    privateKeyPem: encodePem("PRIVATE KEY", derSequence(VERSION_0, EC_ON_P256, derOctetString(key))),
    publicKeyInfo: derSequence(EC_ON_P256, point),
  };
}

// Builds and signs X.509 version 3 certificates. Serial numbers are random, because they identify a credential for revocation.
// Source: RFC 5280 section 4.1

import { type KeyObject, sign } from "node:crypto";
import type { Random } from "../runtime/clock.ts";
import {
  derBitString,
  derExplicit,
  derInteger,
  derNamedBits,
  derObjectIdentifier,
  derOctetString,
  derSequence,
  derTime,
  derTrue,
} from "./der.ts";
import { OID } from "./object-identifiers.ts";

export type CertificateParts = {
  /** Big-endian octets of a positive integer, at most 20. */
  readonly serial: Uint8Array;
  /** Names and key info are whole DER elements. */
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly publicKeyInfo: Uint8Array;
  /** Milliseconds since the epoch, cut to whole seconds. */
  readonly notBefore: number;
  readonly notAfter: number;
  readonly extensions: readonly Uint8Array[];
};

const VERSION_3 = derExplicit(0, derInteger(Uint8Array.of(2)));
const ECDSA_WITH_SHA256 = derSequence(derObjectIdentifier(OID.ecdsaWithSha256));

/** The certificate as DER. `signingKey` is an EC key: we sign with ECDSA and SHA-256 alone. */
export function buildCertificate(parts: CertificateParts, signingKey: KeyObject): Uint8Array {
  const toBeSigned = derSequence(
    VERSION_3,
    derInteger(parts.serial),
    ECDSA_WITH_SHA256,
    parts.issuer,
    derSequence(derTime(parts.notBefore), derTime(parts.notAfter)),
    parts.subject,
    parts.publicKeyInfo,
    derExplicit(3, derSequence(...parts.extensions)),
  );
  return derSequence(toBeSigned, ECDSA_WITH_SHA256, derBitString(sign("sha256", toBeSigned, signingKey)));
}

/** Wraps an extension's value. */
export const encodeExtension = (oid: string, value: Uint8Array): Uint8Array =>
  derSequence(derObjectIdentifier(oid), derOctetString(value));

/** A reader that does not know a critical extension refuses the certificate. */
const encodeCriticalExtension = (oid: string, value: Uint8Array): Uint8Array =>
  derSequence(derObjectIdentifier(oid), derTrue(), derOctetString(value));

/** Bit numbers of KeyUsage. */
const DIGITAL_SIGNATURE = 0;
const KEY_CERT_SIGN = 5;
const CRL_SIGN = 6;

export const AUTHORITY_CONSTRAINTS: readonly Uint8Array[] = [
  encodeCriticalExtension(OID.basicConstraints, derSequence(derTrue())),
  encodeCriticalExtension(OID.keyUsage, derNamedBits([DIGITAL_SIGNATURE, KEY_CERT_SIGN, CRL_SIGN])),
];

export const CLIENT_CONSTRAINTS = leafConstraints(OID.clientAuth);
export const SERVER_CONSTRAINTS = leafConstraints(OID.serverAuth);

function leafConstraints(purpose: string): readonly Uint8Array[] {
  return [
    encodeCriticalExtension(OID.basicConstraints, derSequence()),
    encodeCriticalExtension(OID.keyUsage, derNamedBits([DIGITAL_SIGNATURE])),
    encodeExtension(OID.extendedKeyUsage, derSequence(derObjectIdentifier(purpose))),
  ];
}

/**
 * Random, because a serial names a credential that can be revoked. 16 octets with 126 random bits: the two highest bits are 01, so that every serial
 * is positive and has one length. Source: RFC 5280 section 4.1.2.2
 */
export const randomSerial = (random: Random): Uint8Array => serialOf(random.bytes(16));

/** `bytes`: 16 at least, of which no other serial of the CA is made. */
export function serialOf(bytes: Uint8Array): Uint8Array {
  const serial = Uint8Array.from(bytes.subarray(0, 16));
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  return serial;
}

/** Upper-case hexadecimal, as node:crypto and OpenSSL print a serial. */
export const formatSerial = (serial: Uint8Array): string => Buffer.from(serial).toString("hex").toUpperCase();

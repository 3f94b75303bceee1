// Serial numbers of certificates: random, because they name a credential that can be revoked.
// Source: RFC 5280 section 4.1.2.2

import type { Random } from "@postern/apiserver/runtime/clock";

/** 16 octets with 126 random bits: the two highest bits are 01, so that every serial is positive and has one length. */
export function randomSerial(random: Random): Uint8Array {
  const serial = Uint8Array.from(random.bytes(16));
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  return serial;
}

/** Upper-case hexadecimal, as node:crypto and OpenSSL print a serial. */
export const formatSerial = (serial: Uint8Array): string => Buffer.from(serial).toString("hex").toUpperCase();

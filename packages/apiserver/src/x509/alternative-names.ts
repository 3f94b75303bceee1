// The names and addresses that a serving certificate answers to.
// Source: RFC 5280 section 4.2.1.6

import { isIP } from "node:net";
import { ipAddressOctets } from "../transport/addresses/ip-networks.ts";
import { derImplicit, derSequence } from "./der.ts";

const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** GeneralNames from host names and IP addresses in text form. */
export function encodeAlternativeNames(names: readonly string[]): Uint8Array {
  return derSequence(
    ...names.map((name) =>
      isIP(name) === 0
        ? derImplicit(DNS_NAME, Buffer.from(name, "latin1"))
        : derImplicit(IP_ADDRESS, ipAddressOctets(name)),
    ),
  );
}

// The names and addresses that a serving certificate answers to.
// Source: RFC 5280 section 4.2.1.6

import { isIP } from "node:net";
import { textBefore } from "@postern/apimachinery/text/trim-trailing";
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

/** The 4 or 16 octets of an address that `isIP` accepts. A zone (`fe80::1%eth0`) is left out: it means nothing elsewhere. */
export function ipAddressOctets(address: string): Uint8Array {
  if (isIP(address) === 4) return Uint8Array.from(address.split(".").map(Number));
  // The URL parser writes every spelling of an IPv6 address in hexadecimal groups, also those that end in dotted IPv4.
  const canonical = new URL(`http://[${textBefore(address, "%")}]`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const groupsOf = (text: string) => (text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16)));
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  const groups = [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

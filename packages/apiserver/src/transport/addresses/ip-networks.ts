// IP addresses and networks in CIDR notation.
// Source: RFC 4632, RFC 4291

import { isIP } from "node:net";
import { textBefore } from "@postern/apimachinery/text/trim-trailing";

/** The first `bits` of `octets` (4 or 16) name the network. */
export type IpNetwork = { readonly octets: Uint8Array; readonly bits: number };

const PREFIX = /^\d{1,3}$/;
const MAPPED_IPV4 = /^::ffff:(?:([\d.]+)|([\da-f]{1,4}):([\da-f]{1,4}))$/;

/** `10.20.0.0/16`, `2001:db8::/32`, or a single address. Undefined for any other text. */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const [address = "", prefix, more] = text.split("/");
  if (isIP(address) === 0 || address.includes("%") || more !== undefined) return undefined;
  const octets = ipAddressOctets(address);
  if (prefix === undefined) return { octets, bits: octets.length * 8 };
  return PREFIX.test(prefix) && Number(prefix) <= octets.length * 8 ? { octets, bits: Number(prefix) } : undefined;
}

/** An IPv4 address is in no network of IPv6. `address` as `ipAddressOctets` returns it. */
export function isInNetwork({ octets, bits }: IpNetwork, address: Uint8Array): boolean {
  if (octets.length !== address.length) return false;
  const whole = bits >> 3;
  for (let at = 0; at < whole; at++) if (octets[at] !== address[at]) return false;
  const mask = 0xff & ~(0xff >> (bits & 7));
  return ((octets[whole] ?? 0) & mask) === ((address[whole] ?? 0) & mask);
}

/** Whether all addresses of `inner` are in `outer`. */
export const includesNetwork = (outer: IpNetwork, inner: IpNetwork): boolean =>
  outer.bits <= inner.bits && isInNetwork(outer, inner.octets);

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

/** An address of IPv4 as a dual-stack socket has it, `::ffff:192.0.2.1` or `::ffff:c000:201`, in its own notation; any other as it is. */
export function withoutMapping(address: string): string {
  const [mapped, dotted, high = "", low = ""] = MAPPED_IPV4.exec(address) ?? [];
  if (mapped === undefined) return address;
  if (dotted !== undefined) return isIP(dotted) === 4 ? dotted : address;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 0xff, second >> 8, second & 0xff].join(".");
}

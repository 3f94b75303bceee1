// Functions of addresses and ranges of addresses.
// Source: k8s.io/apiserver/pkg/cel/library/{ip,cidr}.go

import { CelEvaluationError, type CelValue, failCel } from "../cel-value.ts";
import { asCidr, asIp, type Cidr, type IpAddress, readCidr, readIp } from "./ip-address.ts";
import { type CelOverload, celFunction, celMethod } from "./overload.ts";

const is = (read: (text: string) => unknown, text: string): boolean => {
  try {
    read(text);
    return true;
  } catch (error) {
    if (error instanceof CelEvaluationError) return false;
    throw error;
  }
};

const either = (v4: (address: IpAddress) => boolean, v6: (address: IpAddress) => boolean) => (value: CelValue) => {
  const address = asIp(value);
  return address.family === 4 ? v4(address) : v6(address);
};

const isUnspecified = (value: CelValue): boolean => asIp(value).number === 0n;
const isLoopback = either(
  (address) => address.isIn(127n, 8),
  ({ number }) => number === 1n,
);
const isMulticast = either(
  (address) => address.isIn(0b1110n, 4),
  (address) => address.isIn(0xffn, 8),
);
const isLinkLocalMulticast = either(
  (address) => address.isIn(0xe00000n, 24),
  (address) => ((address.number >> 112n) & 0xff0fn) === 0xff02n,
);
const isLinkLocalUnicast = either(
  (address) => address.isIn(0xa9fen, 16),
  (address) => address.isIn(0x3fan, 10),
);

function isGlobalUnicast(value: CelValue): boolean {
  const { family, number } = asIp(value);
  if (family === 4 && (number === 0n || number === 0xffffffffn)) return false;
  return ![isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast].some((holds) => holds(value));
}

function containsCidr(outer: CelValue, inner: Cidr): boolean {
  return asCidr(outer).contains(inner.address) && asCidr(outer).length <= inner.length;
}

export const ipFunctions: readonly CelOverload[] = [
  celFunction("isIP", ["string"], "bool", (text) => is(readIp, text)),
  celFunction("ip", ["string"], "ip", readIp),
  celFunction("ip.isCanonical", ["string"], "bool", (text) => readIp(text).text === text),
  celFunction("string", ["ip"], "string", (value) => asIp(value).text),
  celMethod("family", ["ip"], "int", (value) => BigInt(asIp(value).family)),
  celMethod("isUnspecified", ["ip"], "bool", isUnspecified),
  celMethod("isLoopback", ["ip"], "bool", isLoopback),
  celMethod("isLinkLocalMulticast", ["ip"], "bool", isLinkLocalMulticast),
  celMethod("isLinkLocalUnicast", ["ip"], "bool", isLinkLocalUnicast),
  celMethod("isGlobalUnicast", ["ip"], "bool", isGlobalUnicast),
  celFunction("isCIDR", ["string"], "bool", (text) => is(readCidr, text)),
  celFunction("cidr", ["string"], "cidr", readCidr),
  celFunction("string", ["cidr"], "string", (value) => asCidr(value).text),
  celMethod("containsIP", ["cidr", "string"], "bool", (cidr, text) =>
    // Upstream says no more of a text that is no address.
    asCidr(cidr).contains(is(readIp, text) ? readIp(text) : failCel("no such overload")),
  ),
  celMethod("containsIP", ["cidr", "ip"], "bool", (cidr, ip) => asCidr(cidr).contains(asIp(ip))),
  celMethod("containsCIDR", ["cidr", "string"], "bool", (cidr, text) => containsCidr(cidr, readCidr(text))),
  celMethod("containsCIDR", ["cidr", "cidr"], "bool", (cidr, other) => containsCidr(cidr, asCidr(other))),
  celMethod("ip", ["cidr"], "ip", (cidr) => asCidr(cidr).address),
  celMethod("prefixLength", ["cidr"], "int", (cidr) => BigInt(asCidr(cidr).length)),
  celMethod("masked", ["cidr"], "cidr", (cidr) => asCidr(cidr).masked()),
];

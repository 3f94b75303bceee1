// Warnings about addresses and networks in a form that is valid, and yet not the one everything else writes.
// Source: k8s.io/apimachinery/pkg/util/validation/ip.go (GetWarningsForIP, GetWarningsForCIDR)

import { isIP } from "node:net";
import { quoteGo } from "@postern/apimachinery/text/go-quote";

type Warnings = readonly string[];

/** The warnings about an address that has passed its check. */
export function addressWarnings(path: string, address: string): Warnings {
  const plain = plainFormOf(address);
  if (plain === undefined || plain === address) return [];
  return isMapped(address) || isIP(address) === 0
    ? [`${path}: non-standard IP address ${quoteGo(address)} is invalid: use ${quoteGo(plain)}`]
    : [`${path}: IPv6 address ${quoteGo(address)} should be in RFC 5952 canonical format (${quoteGo(plain)})`];
}

/** The warnings about a network that has passed its check. */
export function networkWarnings(path: string, network: string): Warnings {
  const [address = "", bits = ""] = network.split("/");
  const plain = plainFormOf(address);
  if (plain === undefined) return [];
  const length = Number(bits);
  const width = plain.includes(":") ? 128 : 32;
  // The length of a mapped address counts the 96 bits before it.
  const own = width === 32 && address.includes(":") ? length - 96 : length;
  const base = `${maskedForm(plain, own)}/${own}`;
  const warnings: string[] = [];
  if (base !== `${plain}/${own}`) {
    const choice = `should be ${quoteGo(base)} or ${quoteGo(`${plain}/${width}`)}?`;
    warnings.push(`${path}: CIDR value ${quoteGo(network)} is ambiguous in this context (${choice})`);
  }
  if (isMapped(address) || isIP(address) === 0 || bits !== String(length))
    warnings.push(`${path}: non-standard CIDR value ${quoteGo(network)} is invalid: use ${quoteGo(base)}`);
  if (warnings.length > 0 || width === 32 || `${plain}/${bits}` === network) return warnings;
  const form = quoteGo(`${plain}/${bits}`);
  return [`${path}: IPv6 CIDR value ${quoteGo(network)} should be in RFC 5952 canonical format (${form})`];
}

/** The address without leading zeros, and as IPv4 where it is mapped into IPv6. Undefined for what is no address. */
export function plainFormOf(address: string): string | undefined {
  if (!address.includes(":")) {
    const plain = address.replaceAll(/(^|\.)0+(?=\d)/g, "$1");
    return isIP(plain) === 4 ? plain : undefined;
  }
  if (isIP(address) !== 6 || address.includes("%")) return undefined;
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(plain) ?? [];
  if (high === undefined || low === undefined) return plain;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, second >> 8, second & 255].join(".");
}

const isMapped = (address: string): boolean => address.includes(":") && plainFormOf(address)?.includes(":") === false;

/** Its bits after the first `length` are zero. */
function maskedForm(plain: string, length: number): string {
  const isLong = plain.includes(":");
  const [unit, groups] = isLong ? [16, groupsOf(plain)] : [8, plain.split(".").map(Number)];
  const masked = groups.map((group, index) => {
    const kept = Math.min(unit, Math.max(0, length - index * unit));
    return group & (((1 << unit) - 1) ^ ((1 << (unit - kept)) - 1));
  });
  if (!isLong) return masked.join(".");
  return new URL(`http://[${masked.map((group) => group.toString(16)).join(":")}]`).hostname.slice(1, -1);
}

function groupsOf(address: string): readonly number[] {
  const [head = "", tail] = address.split("::");
  const read = (text: string): readonly number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const [first, last] = [read(head), read(tail ?? "")];
  return tail === undefined ? first : [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}

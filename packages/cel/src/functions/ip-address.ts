// Addresses and ranges of addresses, as numbers.
// Source: k8s.io/apiserver/pkg/cel/{ip,cidr}.go, https://pkg.go.dev/net/netip

import { isIPAddress } from "@postern/apimachinery/schema/validation/ip-address";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { EXTENSION_TYPES } from "../cel-type.ts";
import { CelExtension, type CelValue, failCel } from "../cel-value.ts";

type IpFamily = 4 | 6;

const bitsOf = (family: IpFamily): number => (family === 4 ? 32 : 128);

export class IpAddress extends CelExtension {
  readonly typeName = EXTENSION_TYPES.ip;
  readonly family: IpFamily;
  readonly number: bigint;

  constructor(family: IpFamily, number: bigint) {
    super();
    this.family = family;
    this.number = number;
  }

  equals(other: CelExtension): boolean {
    return other instanceof IpAddress && other.family === this.family && other.number === this.number;
  }

  /** Whether it begins with the same bits. */
  isIn(prefix: bigint, length: number): boolean {
    return this.number >> BigInt(bitsOf(this.family) - length) === prefix;
  }

  get text(): string {
    return this.family === 4 ? dotted(this.number) : colons(this.number);
  }
}

export class Cidr extends CelExtension {
  readonly typeName = EXTENSION_TYPES.cidr;
  readonly address: IpAddress;
  readonly length: number;

  constructor(address: IpAddress, length: number) {
    super();
    this.address = address;
    this.length = length;
  }

  equals(other: CelExtension): boolean {
    return other instanceof Cidr && other.length === this.length && other.address.equals(this.address);
  }

  contains(address: IpAddress): boolean {
    const { family, number } = this.address;
    return address.family === family && address.isIn(number >> BigInt(bitsOf(family) - this.length), this.length);
  }

  masked(): Cidr {
    const { family, number } = this.address;
    const rest = BigInt(bitsOf(family) - this.length);
    return new Cidr(new IpAddress(family, (number >> rest) << rest), this.length);
  }

  get text(): string {
    return `${this.address.text}/${this.length}`;
  }
}

const dotted = (number: bigint): string => [24n, 16n, 8n, 0n].map((by) => String((number >> by) & 0xffn)).join(".");

/** The longest run of two zero groups or more is left out, the first of several. Source: RFC 5952 */
function colons(number: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => (number >> BigInt(112 - index * 16)) & 0xffffn);
  let [begin, length] = [0, 1];
  for (let at = 0; at < groups.length; at++) {
    let end = at;
    while (groups[end] === 0n) end++;
    if (end - at > length) [begin, length] = [at, end - at];
  }
  const text = (part: readonly bigint[]): string => part.map((group) => group.toString(16)).join(":");
  if (length < 2) return text(groups);
  return `${text(groups.slice(0, begin))}::${text(groups.slice(begin + length))}`;
}

function numberOf(text: string): bigint {
  if (!text.includes(":")) return text.split(".").reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
  const [head = "", tail] = text.replace(/(?<!\d)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/, hexGroups).split("::");
  const groups = (part: string): readonly string[] => (part === "" ? [] : part.split(":"));
  const [before, after] = [groups(head), groups(tail ?? "")];
  const between = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...between, ...after].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

function hexGroups(quad: string): string {
  const number = numberOf(quad);
  return `${(number >> 16n).toString(16)}:${(number & 0xffffn).toString(16)}`;
}

const isMapped = (number: bigint): boolean => number >> 32n === 0xffffn;

/** Throws CelEvaluationError, also for zones and IPv4 addresses that are written as IPv6. */
export function readIp(text: string): IpAddress {
  const [address = "", zone] = text.split("%");
  if (!isIPAddress(address) || zone === "" || (zone !== undefined && !address.includes(":"))) {
    return failCel(
      `IP Address ${quoteGo(text)} parse error during conversion from string: ParseAddr(${quoteGo(text)}): ${ipFault(text)}`,
    );
  }
  if (zone !== undefined) return failCel(`IP address ${quoteGo(text)} with zone value is not allowed`);
  const number = numberOf(address);
  const family = address.includes(":") ? 6 : 4;
  if (family === 6 && isMapped(number)) return failCel(`IPv4-mapped IPv6 address ${quoteGo(text)} is not allowed`);
  return new IpAddress(family, number);
}

const ipFault = (text: string): string => (/[.:]/.test(text) ? "unexpected character" : "unable to parse IP");

/** Throws CelEvaluationError. The bits behind the prefix may be anything. */
export function readCidr(text: string): Cidr {
  const [, address = "", bits = ""] = /^([^/]*)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const why = "network address parse error during conversion from string: ";
  if (!isIPAddress(address)) return failCel(`${why}${why}netip.ParsePrefix(${quoteGo(text)}): no '/'`);
  const number = numberOf(address);
  const family = address.includes(":") ? 6 : 4;
  if (Number(bits) > bitsOf(family)) {
    return failCel(`${why}${why}netip.ParsePrefix(${quoteGo(text)}): prefix length out of range`);
  }
  if (family === 6 && isMapped(number))
    return failCel(`${why}IPv4-mapped IPv6 address ${quoteGo(text)} is not allowed`);
  return new Cidr(new IpAddress(family, number), Number(bits));
}

export const asIp = (value: CelValue): IpAddress => (value instanceof IpAddress ? value : failCel("no such overload"));
export const asCidr = (value: CelValue): Cidr => (value instanceof Cidr ? value : failCel("no such overload"));

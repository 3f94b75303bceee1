// Checks that the kinds of Kubernetes share, in the words of its validation.
// Source: k8s.io/apimachinery/pkg/util/validation/{validation,ip}.go, pkg/apis/core/validation/validation.go

import { BlockList, isIP } from "node:net";
import { isCidr } from "@postern/apimachinery/schema/validation/ip-address";
import {
  type FieldError,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import {
  isDNS1123Label,
  isDNS1123Subdomain,
  isQualifiedName,
  isValidPathSegmentName,
  type StringValidator,
} from "@postern/apimachinery/validation/string-validators";

/** The faults that a validator finds in a text. */
export const textFaults = (path: string, text: string, validate: StringValidator): readonly FieldError[] =>
  validate(text).map((fault) => invalidError(path, text, fault));

export const labelFaults = (path: string, text: string): readonly FieldError[] =>
  textFaults(path, text, isDNS1123Label);

export const subdomainFaults = (path: string, text: string): readonly FieldError[] =>
  textFaults(path, text, isDNS1123Subdomain);

/** A name that stands alone in a path of the API. */
export const segmentFaults = (path: string, text: string): readonly FieldError[] =>
  text === "" ? [requiredError(path)] : textFaults(path, text, isValidPathSegmentName);

export const qualifiedFaults = (path: string, text: string): readonly FieldError[] =>
  textFaults(path, text, isQualifiedName);

/** A value that is absent or empty is missing; any other is one of a few. */
export function requiredChoice(path: string, value: string | undefined, known: readonly string[]) {
  return value === undefined || value === "" ? [requiredError(path)] : choiceFaults(path, value, known);
}

/** A value that is absent is no fault. */
export const choiceFaults = (
  path: string,
  value: string | undefined,
  known: readonly string[],
): readonly FieldError[] =>
  value === undefined || known.includes(value) ? [] : [notSupportedError(path, value, known)];

export const negativeFaults = (path: string, value: number | bigint | undefined): readonly FieldError[] =>
  value !== undefined && value < 0 ? [invalidError(path, value, "must be greater than or equal to 0")] : [];

const MAX_PORT = 65_535;

export const portFaults = (path: string, port: number): readonly FieldError[] =>
  port >= 1 && port <= MAX_PORT ? [] : [invalidError(path, port, `must be between 1 and ${MAX_PORT}, inclusive`)];

export const isPortName: StringValidator = (name) => [
  ...(name.length > 15 ? ["must be no more than 15 characters"] : []),
  ...(/^[-a-z0-9]*$/.test(name) ? [] : ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]),
  ...(/[a-z]/.test(name) ? [] : ["must contain at least one letter (a-z)"]),
  ...(name.includes("--") ? ["must not contain consecutive hyphens"] : []),
  ...(/^-|-$/.test(name) ? ["must not begin or end with a hyphen"] : []),
];

/** A port by its number or its name. */
export const portOrNameFaults = (path: string, port: number | string): readonly FieldError[] =>
  typeof port === "number" ? portFaults(path, port) : textFaults(path, port, isPortName);

const PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

/** `example.com/path`. */
export function prefixedPathFaults(path: string, text: string): readonly FieldError[] {
  if (text === "") return [requiredError(path)];
  const slash = text.indexOf("/");
  if (slash < 1 || slash === text.length - 1) {
    return [invalidError(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  const [host, below] = [text.slice(0, slash), text.slice(slash + 1)];
  const why = `Invalid path (regex used for validation is '${PATH.source.slice(1, -1).replaceAll("\\", "\\")}')`;
  return [...subdomainFaults(path, host), ...(PATH.test(below) ? [] : [invalidError(path, below, why)])];
}

const LEADING_ZERO = /(^|\.)0\d/;

/** An address as fields take it that are older than strict addresses. */
export function addressFaults(path: string, address: string): readonly FieldError[] {
  if (isIP(address) !== 0) return [];
  const isOld = LEADING_ZERO.test(address) && isIP(address.replaceAll(/(^|\.)0+(?=\d)/g, "$1")) === 4;
  const why = isOld ? "must not have leading 0s" : "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
  return [invalidError(path, address, why)];
}

const SPECIAL: readonly (readonly [readonly string[], string])[] = [
  [["127.0.0.0/8", "::1/128"], "may not be in the loopback range (127.0.0.0/8, ::1/128)"],
  [["169.254.0.0/16", "fe80::/10"], "may not be in the link-local range (169.254.0.0/16, fe80::/10)"],
  [["224.0.0.0/24", "ff02::/16"], "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
];
const familyOf = (address: string): "ipv4" | "ipv6" => (address.includes(":") ? "ipv6" : "ipv4");
const LISTS = SPECIAL.map(([ranges, why]) => {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", bits] = range.split("/");
    list.addSubnet(network, Number(bits), familyOf(network));
  }
  return { list, why };
});

/** Traffic of a Service never goes to the machine that sends it. The address is valid. */
export const endpointAddressFaults = (path: string, address: string): readonly FieldError[] => [
  ...(address === "0.0.0.0" || address === "::"
    ? [invalidError(path, address, `may not be unspecified (${address})`)]
    : []),
  ...LISTS.filter(({ list }) => list.check(address, familyOf(address))).map(({ why }) =>
    invalidError(path, address, why),
  ),
];

/** A network as fields take it that are older than strict ones: its address has no bits below the prefix. */
export function networkFaults(path: string, network: string): readonly FieldError[] {
  if (!isCidr(network)) {
    return [invalidError(path, network, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")];
  }
  const { address, bits, size } = readNetwork(network);
  const isClean = (address & ((1n << BigInt(size - bits)) - 1n)) === 0n;
  return isClean ? [] : [invalidError(path, network, "must not have bits set beyond the prefix length")];
}

export type Network = { readonly address: bigint; readonly bits: number; readonly size: 32 | 128 };

/** Reads a valid network. */
export function readNetwork(network: string): Network {
  const [address = "", bits = ""] = network.split("/");
  return { address: addressNumber(address), bits: Number(bits), size: address.includes(":") ? 128 : 32 };
}

/** Whether a network is a smaller part of another. */
export const isPartOf = (part: Network, whole: Network): boolean =>
  part.size === whole.size &&
  part.bits > whole.bits &&
  part.address >> BigInt(part.size - whole.bits) === whole.address >> BigInt(whole.size - whole.bits);

function addressNumber(address: string): bigint {
  if (!address.includes(":")) return address.split(".").reduce((sum, octet) => sum * 256n + BigInt(octet), 0n);
  const [head = "", tail] = address.split("::");
  const groups = (half: string): string[] => (half === "" ? [] : half.split(":").flatMap(groupsOf));
  const [first, last] = [groups(head), tail === undefined ? [] : groups(tail)];
  const zeros = tail === undefined ? [] : Array<string>(8 - first.length - last.length).fill("0");
  return [...first, ...zeros, ...last].reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

/** The end of an address may be dotted. */
function groupsOf(group: string): string[] {
  if (!group.includes(".")) return [group];
  const number = addressNumber(group);
  return [(number >> 16n).toString(16), (number & 0xffffn).toString(16)];
}

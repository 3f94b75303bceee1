// Which addresses the platform connects to: tenants who register a target choose its host name. Special-purpose networks are in one table.
// Source: https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry,
// https://www.iana.org/assignments/ipv6-address-space; read in November 2026

import { isIP } from "node:net";
import { textBefore } from "@postern/apimachinery/text/trim-trailing";
import {
  type IpNetwork,
  ipAddressOctets,
  isInNetwork,
  parseIpNetwork,
} from "@postern/apiserver/transport/addresses/ip-networks";
import type { OutboundProxy } from "./outbound-proxy.ts";

type SpecialNetwork = {
  /** In CIDR notation. */
  readonly network: string;
  readonly what: string;
  /**
   * `nobody`: never a cluster, even if an administrator registers it. `own network`: only hosts near the platform can reach it, so only
   * an administrator may point there.
   */
  readonly refusedTo: "nobody" | "own network";
  /** Where the address carries IPv4 addresses that something on the way may unwrap: the offsets of their four octets. */
  readonly carries?: readonly (readonly [number, number, number, number])[];
};

const LAST_FOUR = [12, 13, 14, 15] as const;
const nobody = "nobody";
const near = "own network";

// biome-ignore format: a table
export const SPECIAL_NETWORKS: readonly SpecialNetwork[] = [
  // All of these serve credentials to any caller, identify no single host, or none at all.
  { network: "0.0.0.0/8",          refusedTo: nobody, what: "this network (RFC 791)" },
  { network: "169.254.0.0/16",     refusedTo: nobody, what: "link-local, where clouds have their metadata services (RFC 3927)" },
  { network: "100.100.100.200/32", refusedTo: nobody, what: "the metadata service of a cloud" },
  { network: "168.63.129.16/32",   refusedTo: nobody, what: "the metadata service of a cloud" },
  { network: "192.0.0.192/32",     refusedTo: nobody, what: "the metadata service of a cloud" },
  { network: "224.0.0.0/4",        refusedTo: nobody, what: "multicast (RFC 5771)" },
  { network: "255.255.255.255/32", refusedTo: nobody, what: "limited broadcast (RFC 8190)" },
  { network: "::/128",             refusedTo: nobody, what: "unspecified (RFC 4291)" },
  { network: "fe80::/10",          refusedTo: nobody, what: "link-local (RFC 4291)" },
  { network: "fd00:ec2::254/128",  refusedTo: nobody, what: "the metadata service of a cloud" },
  { network: "fd20:ce::254/128",   refusedTo: nobody, what: "the metadata service of a cloud" },
  { network: "ff00::/8",           refusedTo: nobody, what: "multicast (RFC 4291)" },
  { network: "100::/64",           refusedTo: nobody, what: "discard only (RFC 6666)" },
  { network: "100:0:0:1::/64",     refusedTo: nobody, what: "dummy prefix (RFC 9780)" },

  { network: "10.0.0.0/8",         refusedTo: near, what: "private (RFC 1918)" },
  { network: "100.64.0.0/10",      refusedTo: near, what: "shared by customers of a carrier (RFC 6598)" },
  { network: "127.0.0.0/8",        refusedTo: near, what: "loopback (RFC 1122)" },
  { network: "172.16.0.0/12",      refusedTo: near, what: "private (RFC 1918)" },
  { network: "192.0.0.0/24",       refusedTo: near, what: "protocol assignments (RFC 6890)" },
  { network: "192.0.2.0/24",       refusedTo: near, what: "documentation (RFC 5737)" },
  { network: "192.31.196.0/24",    refusedTo: near, what: "AS112 (RFC 7535)" },
  { network: "192.52.193.0/24",    refusedTo: near, what: "automatic multicast tunnels (RFC 7450)" },
  { network: "192.88.99.0/24",     refusedTo: near, what: "relays of 6to4 (RFC 7526)" },
  { network: "192.168.0.0/16",     refusedTo: near, what: "private (RFC 1918)" },
  { network: "192.175.48.0/24",    refusedTo: near, what: "AS112 (RFC 7534)" },
  { network: "198.18.0.0/15",      refusedTo: near, what: "benchmarks (RFC 2544)" },
  { network: "198.51.100.0/24",    refusedTo: near, what: "documentation (RFC 5737)" },
  { network: "203.0.113.0/24",     refusedTo: near, what: "documentation (RFC 5737)" },
  { network: "240.0.0.0/4",        refusedTo: near, what: "reserved (RFC 1112)" },

  { network: "::1/128",            refusedTo: near, what: "loopback (RFC 4291)" },
  { network: "::/96",              refusedTo: near, what: "IPv4-compatible (RFC 4291)", carries: [LAST_FOUR] },
  { network: "64:ff9b:1::/48",     refusedTo: near, what: "translation within a network (RFC 8215)",
    carries: [LAST_FOUR, [6, 7, 9, 10]] },
  { network: "2001::/32",          refusedTo: near, what: "Teredo (RFC 4380)", carries: [[4, 5, 6, 7]] },
  { network: "2001::/23",          refusedTo: near, what: "protocol assignments, ORCHID among them (RFC 2928, RFC 4843, RFC 7343)" },
  { network: "2001:db8::/32",      refusedTo: near, what: "documentation (RFC 3849)" },
  { network: "2002::/16",          refusedTo: near, what: "6to4 (RFC 3056)", carries: [[2, 3, 4, 5]] },
  { network: "2620:4f:8000::/48",  refusedTo: near, what: "AS112 (RFC 7534)" },
  { network: "3fff::/20",          refusedTo: near, what: "documentation (RFC 9637)" },
  { network: "fc00::/7",           refusedTo: near, what: "unique local (RFC 4193)" },
  { network: "fec0::/10",          refusedTo: near, what: "site-local, deprecated (RFC 3879)" },
];

/** Other spellings of an IPv4 address: the rules of that address apply. An allowed address allows these, too. */
const SPELLINGS_OF_IPV4: readonly string[] = ["::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"];

const networksRefusedTo = (refusedTo: SpecialNetwork["refusedTo"]): readonly string[] =>
  SPECIAL_NETWORKS.filter((entry) => entry.refusedTo === refusedTo).map(({ network }) => network);

/** Decides about an IP address in text form. */
export type AddressRules = {
  isAllowed(address: string): boolean;
  /** For people: how an address that is refused can be allowed. Undefined where it should not be. */
  adviceFor(address: string): string | undefined;
  /** The HTTP proxy that connects to a host in place of this server, which does not see its address then. Undefined: there is none. */
  readonly proxyFor: OutboundProxy;
};

export type AddressRulesOptions = {
  /** Networks in CIDR notation, or single addresses, that are dialled although they are refused otherwise. */
  readonly allow?: readonly string[];
  /** Networks that are refused; absent: LOCAL_TO_A_LINK. */
  readonly refuse?: readonly string[];
  /** Addresses of this machine as they are now, which are refused. Absent: none. */
  readonly ownAddresses?: () => readonly string[];
  /** The option that fills `allow`, for texts. Addresses of LOCAL_TO_A_LINK are never advised. */
  readonly option?: string;
  /** Absent: all hosts are reached directly. */
  readonly proxyFor?: OutboundProxy;
};

/**
 * Addresses at which no cluster lives: the metadata services of clouds, which give credentials to any caller, the rest of the link-local
 * networks they are in, and addresses that name no single host.
 */
export const LOCAL_TO_A_LINK: readonly string[] = networksRefusedTo("nobody");

/** For platforms whose tenants register targets themselves: hosts that only the platform's own network can reach. */
export const PRIVATE_NETWORKS: readonly string[] = [
  ...networksRefusedTo("own network"),
  // All of IPv6 but 2000::/3: IANA has given out no unicast address elsewhere.
  "::/3",
  "4000::/2",
  "8000::/1",
];

const CARRIERS = SPECIAL_NETWORKS.flatMap(({ network, carries = [] }) =>
  carries.map((offsets) => ({ network: parseNetwork(network), offsets })),
);

/** Throws RangeError for a text that is no network. */
export function createAddressRules({
  allow = [],
  refuse = LOCAL_TO_A_LINK,
  ownAddresses = () => [],
  option,
  proxyFor = () => undefined,
}: AddressRulesOptions = {}): AddressRules {
  const allowed = networks(allow);
  const refused = networks(refuse);
  const never = networks(LOCAL_TO_A_LINK);
  const spellings = networks(SPELLINGS_OF_IPV4);

  /** An IPv4 address that is spelt as IPv6 is judged as that address. Undefined for a text that is no address. */
  const bareOf = (address: string): string | undefined => {
    // A zone chooses an interface, and no other host.
    const given = textBefore(address, "%");
    if (isIP(given) === 0) return undefined;
    return isIP(given) === 6 && isIn(spellings, given) ? ipv4At(given, [12, 13, 14, 15]) : given;
  };
  const facesOf = (bare: string): readonly string[] => [bare, ...carriedBy(bare)];

  return {
    proxyFor,
    isAllowed(address) {
      const bare = bareOf(address);
      if (bare === undefined) return false;
      if (isIn(allowed, bare) || isIn(allowed, textBefore(address, "%"))) return true;
      const own = networks(ownAddresses().map((text) => textBefore(text, "%")));
      return facesOf(bare).every((face) => !isIn(refused, face) && !isIn(own, face));
    },
    adviceFor(address) {
      const bare = bareOf(address);
      if (option === undefined || bare === undefined || facesOf(bare).some((face) => isIn(never, face)))
        return undefined;
      return `the server's option ${option} allows it`;
    },
  };
}

const isIn = (list: readonly IpNetwork[], address: string): boolean => {
  const octets = ipAddressOctets(address);
  return list.some((network) => isInNetwork(network, octets));
};

/** IPv4 addresses that a tunnel or translator may make of an IPv6 address; one that begins with 0 is no address at all, as in `::1`. */
const carriedBy = (address: string): readonly string[] =>
  CARRIERS.filter(({ network }) => isInNetwork(network, ipAddressOctets(address)))
    .map(({ offsets }) => ipv4At(address, offsets))
    .filter((carried) => !carried.startsWith("0."));

const networks = (list: readonly string[]): readonly IpNetwork[] => list.map(parseNetwork);

function parseNetwork(text: string): IpNetwork {
  const network = parseIpNetwork(text);
  if (network === undefined) throw new RangeError(`${text} is not a network`);
  return network;
}

function ipv4At(address: string, offsets: readonly number[]): string {
  const octets = ipAddressOctets(address);
  return offsets.map((offset) => octets[offset] ?? 0).join(".");
}

// Which addresses the platform connects to. Whoever registers a target chooses its host name, and with it where we dial.

import { BlockList, isIP } from "node:net";

/** Decides about an IP address in text form. */
export type AddressRules = {
  isAllowed(address: string): boolean;
  /** For people: how an address that is refused can be allowed. Undefined where it should not be. */
  adviceFor(address: string): string | undefined;
};

export type AddressRulesOptions = {
  /** Networks in CIDR notation, or single addresses, that are dialled although they are refused otherwise. */
  readonly allow?: readonly string[];
  /** Networks that are refused; absent: LOCAL_TO_A_LINK. */
  readonly refuse?: readonly string[];
  /** The option that fills `allow`, for texts. Addresses of LOCAL_TO_A_LINK are never advised. */
  readonly option?: string;
};

/**
 * What no cluster lives at: the metadata services of clouds, which give credentials to whoever asks, the rest of the link-local
 * networks they stand in, and addresses that name no single host.
 */
export const LOCAL_TO_A_LINK: readonly string[] = [
  "169.254.0.0/16",
  "fe80::/10",
  "fd00:ec2::254",
  "fd20:ce::254",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "0.0.0.0/8",
  "::/128",
  "224.0.0.0/4",
  "255.255.255.255",
  "ff00::/8",
];

/** For platforms whose tenants register targets themselves: hosts that only the platform's own network can reach. */
export const PRIVATE_NETWORKS: readonly string[] = [
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "fc00::/7",
  "127.0.0.0/8",
  "::1",
];

/** Prefixes of IPv6 addresses that carry an IPv4 address in their last four octets: a translator on the way unwraps it. */
const TRANSLATED: readonly string[] = ["64:ff9b::/96", "::ffff:0:0/96", "::ffff:0:0:0/96"];

/** Throws RangeError for a text that is no network. */
export function createAddressRules({
  allow = [],
  refuse = LOCAL_TO_A_LINK,
  option,
}: AddressRulesOptions = {}): AddressRules {
  const allowed = networks(allow);
  const refused = networks(refuse);
  const translated = networks(TRANSLATED);
  const never = networks(LOCAL_TO_A_LINK);
  const isIn = (list: BlockList, address: string): boolean => list.check(address, familyOf(address));

  /** An address, and the one inside it. None for a text that is no address. */
  const facesOf = (address: string): readonly string[] => {
    const bare = address.replace(/%.*$/, "");
    if (isIP(bare) === 0) return [];
    const inner = isIP(bare) === 6 && isIn(translated, bare) ? embeddedIPv4(bare) : undefined;
    return inner === undefined ? [bare] : [bare, inner];
  };

  return {
    isAllowed(address) {
      const faces = facesOf(address);
      if (faces.length === 0) return false;
      return faces.some((face) => isIn(allowed, face)) || !faces.some((face) => isIn(refused, face));
    },
    adviceFor(address) {
      const faces = facesOf(address);
      const mayBeAllowed = faces.length > 0 && !faces.some((face) => isIn(never, face));
      return option === undefined || !mayBeAllowed ? undefined : `the server's option ${option} allows it`;
    },
  };
}

function networks(list: readonly string[]): BlockList {
  const result = new BlockList();
  for (const network of list) {
    const [address = "", length] = network.split("/");
    const bits = length === undefined ? (isIP(address) === 4 ? 32 : 128) : Number(length);
    if (isIP(address) === 0 || !Number.isInteger(bits)) throw new RangeError(`${network} is not a network`);
    result.addSubnet(address, bits, familyOf(address));
  }
  return result;
}

const familyOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 4 ? "ipv4" : "ipv6");

function embeddedIPv4(address: string): string | undefined {
  const tail = address.slice(address.lastIndexOf(":") + 1);
  if (isIP(tail) === 4) return tail;
  // The URL parser writes an address in its one normal form.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const last = (groups.at(-1) ?? "").split(":").filter((group) => group !== "");
  const [high = "0", low = "0"] = last.length === 1 ? ["0", last[0]] : last.slice(-2);
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join(".");
}

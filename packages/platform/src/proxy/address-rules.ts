// Which addresses the platform connects to. Whoever registers a target chooses its host name, and with it where we dial.

import { isIP } from "node:net";
import { textBefore } from "@postern/apimachinery/text/without-trailing";
import { ipAddressOctets } from "../pki/subject-alternative-names.ts";
import { networksRefusedTo, SPECIAL_NETWORKS, SPELLINGS_OF_IPV4 } from "./special-addresses.ts";

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
  /** Addresses of this machine as they are now, which are refused. Absent: none. */
  readonly ownAddresses?: () => readonly string[];
  /** The option that fills `allow`, for texts. Addresses of LOCAL_TO_A_LINK are never advised. */
  readonly option?: string;
};

/**
 * What no cluster lives at: the metadata services of clouds, which give credentials to whoever asks, the rest of the link-local
 * networks they stand in, and addresses that name no single host.
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

type Network = { readonly octets: Uint8Array; readonly bits: number };

const CARRIERS = SPECIAL_NETWORKS.flatMap(({ network, carries = [] }) =>
  carries.map((offsets) => ({ network: parseNetwork(network), offsets })),
);

/** Throws RangeError for a text that is no network. */
export function createAddressRules({
  allow = [],
  refuse = LOCAL_TO_A_LINK,
  ownAddresses = () => [],
  option,
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

const isIn = (list: readonly Network[], address: string): boolean => {
  const octets = ipAddressOctets(address);
  return list.some((network) => contains(network, octets));
};

/** An IPv4 address is in no network of IPv6. */
function contains({ octets, bits }: Network, address: Uint8Array): boolean {
  if (octets.length !== address.length) return false;
  const whole = bits >> 3;
  for (let at = 0; at < whole; at++) if (octets[at] !== address[at]) return false;
  const mask = 0xff & ~(0xff >> (bits & 7));
  return ((octets[whole] ?? 0) & mask) === ((address[whole] ?? 0) & mask);
}

/** IPv4 addresses that a tunnel or translator may make of an IPv6 address; one that begins with 0 is no address at all, as in `::1`. */
const carriedBy = (address: string): readonly string[] =>
  CARRIERS.filter(({ network }) => contains(network, ipAddressOctets(address)))
    .map(({ offsets }) => ipv4At(address, offsets))
    .filter((carried) => !carried.startsWith("0."));

const networks = (list: readonly string[]): readonly Network[] => list.map(parseNetwork);

function parseNetwork(network: string): Network {
  const [address = "", length] = network.split("/");
  if (isIP(address) === 0) throw new RangeError(`${network} is not a network`);
  const octets = ipAddressOctets(address);
  const bits = length === undefined ? octets.length * 8 : Number(length);
  if (!Number.isInteger(bits) || bits < 0 || bits > octets.length * 8)
    throw new RangeError(`${network} is not a network`);
  return { octets, bits };
}

function ipv4At(address: string, offsets: readonly number[]): string {
  const octets = ipAddressOctets(address);
  return offsets.map((offset) => octets[offset] ?? 0).join(".");
}

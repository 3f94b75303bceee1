// Proxies and load balancers whose word about the client is taken: limits, the audit log and source ranges of keys go by the client's address.

import { isIP } from "node:net";
import type { RequestHeaders } from "../api-request.ts";
import { type IpNetwork, ipAddressOctets, isInNetwork, withoutMapping } from "./ip-networks.ts";

/** The header that the proxies write. They leave any other to the client, so that only this one is read. */
export type ForwardedHeader = "x-forwarded-for" | "forwarded";

export type TrustedProxies = {
  readonly networks: readonly IpNetwork[];
  readonly header: ForwardedHeader;
  /** Their connections begin with a header of the PROXY protocol, and are closed where they do not. */
  readonly sendProxyProtocol: boolean;
};

export const isTrustedProxy = ({ networks }: TrustedProxies, address: string): boolean => {
  const bare = withoutMapping(address);
  if (networks.length === 0 || isIP(bare) === 0) return false;
  const octets = ipAddressOctets(bare);
  return networks.some((network) => isInNetwork(network, octets));
};

/**
 * The client of a request that came from the trusted proxy `peer`: the last address in its header that is not a trusted proxy's. Each proxy adds the
 * address it was asked from at the end, so that all that stands before is what a client says. An entry that is no address ends the search.
 */
export function forwardedClient(proxies: TrustedProxies, peer: string, headers: RequestHeaders): string {
  const given = headers[proxies.header];
  let rest = typeof given === "string" ? given : (given ?? []).join(",");
  let client = peer;
  while (rest !== "") {
    const comma = rest.lastIndexOf(",");
    const entry = rest.slice(comma + 1).trim();
    const address = addressIn(proxies.header === "forwarded" ? forOf(entry) : entry);
    if (address === undefined) return client;
    client = address;
    if (!isTrustedProxy(proxies, address)) return client;
    rest = comma === -1 ? "" : rest.slice(0, comma);
  }
  return client;
}

/** The `for` parameter of an element of `Forwarded`. Source: RFC 7239 section 4 */
function forOf(element: string): string {
  for (const pair of element.split(";")) {
    const [name = "", value = ""] = pair.split("=", 2);
    if (name.trim().toLowerCase() === "for") return value.trim().replace(/^"(.*)"$/, "$1");
  }
  return "";
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function addressIn(text: string): string | undefined {
  const [, bracketed] = /^\[([^\]%]+)\](?::\d{1,5})?$/.exec(text) ?? [];
  const bare = bracketed ?? (isIP(text) === 0 ? text.replace(/:\d{1,5}$/, "") : text);
  if (isIP(bare) === 0 || bare.includes("%")) return undefined;
  return withoutMapping(bare.toLowerCase());
}

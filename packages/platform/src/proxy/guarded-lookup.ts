// Resolves the host of a target once for each connection, and hands on only addresses that may be dialled, so that a name cannot
// point elsewhere between the check and the connection.

import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import type { AddressRules } from "./address-rules.ts";

export class AddressRefusedError extends Error {
  override readonly name = "AddressRefusedError";

  constructor() {
    super("its address is one that the platform does not connect to");
  }
}

/** As `dns.lookup` with `all: true`. */
export type ResolveHost = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** For the `lookup` option of a socket. It is not asked about hosts that are IP addresses: see `refuseLiteral`. */
export function createGuardedLookup(rules: AddressRules, resolve: ResolveHost = systemLookup): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(hostname, { all: true }, (error, found) => {
      const addresses = found?.filter(({ address }) => rules.isAllowed(address)) ?? [];
      const [first] = addresses;
      if (error !== null) callback(error, []);
      else if (first === undefined) callback(new AddressRefusedError(), []);
      else if (all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Throws AddressRefusedError when `host` is an IP address that may not be dialled. */
export function refuseLiteral(host: string, rules: AddressRules): void {
  if (isIP(host) !== 0 && !rules.isAllowed(host)) throw new AddressRefusedError();
}

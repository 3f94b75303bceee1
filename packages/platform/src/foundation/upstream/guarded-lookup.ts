// Resolves the host of a target once per connection, and returns only allowed addresses, so that a name cannot change between check and connection.

import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import type { AddressRules } from "./address-rules.ts";
import { createHostResolver, type ResolveHost } from "./resolve-host.ts";

export class AddressRefusedError extends Error {
  override readonly name = "AddressRefusedError";

  /** `advice` as AddressRules give it. */
  constructor(advice?: string) {
    const refusal = "its address is not allowed";
    super(advice === undefined ? refusal : `${refusal}: it is private or loopback; ${advice}`);
  }
}

/** One for the process: its threads are what is short. */
const resolveHost = createHostResolver();

/** For the `lookup` option of a socket. It is not asked about hosts that are IP addresses: see `refuseLiteral`. */
export function createGuardedLookup(rules: AddressRules, resolve: ResolveHost = resolveHost): LookupFunction {
  return (hostname, { all }, callback) => {
    resolve(hostname, { all: true }, (error, found) => {
      const addresses = found?.filter(({ address }) => rules.isAllowed(address)) ?? [];
      const [first] = addresses;
      if (error !== null) callback(error, []);
      else if (first === undefined) callback(new AddressRefusedError(adviceAbout(found, rules)), []);
      else if (all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** Throws AddressRefusedError when `host` is an IP address that may not be dialled. */
export function refuseLiteral(host: string, rules: AddressRules): void {
  if (isIP(host) !== 0 && !rules.isAllowed(host)) throw new AddressRefusedError(rules.adviceFor(host));
}

/** Nothing where one of the addresses should not be allowed. */
function adviceAbout(found: readonly LookupAddress[], rules: AddressRules): string | undefined {
  const advices = found.map(({ address }) => rules.adviceFor(address));
  return advices.includes(undefined) ? undefined : advices[0];
}

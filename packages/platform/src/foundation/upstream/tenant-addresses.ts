// The addresses that targets and webhooks of tenants may have.

import { networkInterfaces } from "node:os";
import type { Configuration } from "../config/configuration.ts";
import { type AddressRules, createAddressRules, LOCAL_TO_A_LINK, PRIVATE_NETWORKS } from "./address-rules.ts";
import { outboundProxy } from "./outbound-proxy.ts";

/** Can be sent to a thread. */
export type TenantReach = Pick<Configuration, "outboundProxy" | "proxyEnvironment"> & {
  readonly proxy: Pick<Configuration["proxy"], "allowedAddresses">;
};

/**
 * A registered target must not make the platform connect to addresses in its own network. A proxy resolves names itself, so that it has to refuse
 * these addresses: tenants go through it only where the operator says so.
 */
export const tenantAddressRules = ({ proxy, ...outbound }: TenantReach): AddressRules =>
  createAddressRules({
    ...(outbound.outboundProxy.forTenants ? { proxyFor: outboundProxy(outbound) } : {}),
    refuse: [...LOCAL_TO_A_LINK, ...PRIVATE_NETWORKS],
    allow: proxy.allowedAddresses,
    ownAddresses,
    option: "--proxy-allowed-addresses",
  });

/** Addresses of this machine. Determined for each connection: interfaces may change at any time. */
export const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));

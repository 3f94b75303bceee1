// The addresses that targets and webhooks of tenants may have.

import { networkInterfaces } from "node:os";
import type { Configuration } from "../config/configuration.ts";
import { type AddressRules, createAddressRules, LOCAL_TO_A_LINK, PRIVATE_NETWORKS } from "./address-rules.ts";

type AllowedAddresses = { readonly proxy: Pick<Configuration["proxy"], "allowedAddresses"> };

/** A registered target must not make the platform connect to addresses in its own network. */
export const tenantAddressRules = ({ proxy }: AllowedAddresses): AddressRules =>
  createAddressRules({
    refuse: [...LOCAL_TO_A_LINK, ...PRIVATE_NETWORKS],
    allow: proxy.allowedAddresses,
    ownAddresses,
    option: "--proxy-allowed-addresses",
  });

/** Addresses of this machine. Determined for each connection: interfaces may change at any time. */
export const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));

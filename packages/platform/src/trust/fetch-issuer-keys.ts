// How the keys of issuers are fetched by a server of this configuration.

import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { ownAddresses, tenantAddressRules } from "../clusters/reach-clusters.ts";
import type { Configuration } from "../config/configuration.ts";
import type { PlatformNames } from "../platform-names.ts";
import { type AddressRules, createAddressRules, LOCAL_TO_A_LINK } from "../proxy/address-rules.ts";
import { createFetchKeySet } from "./fetch-key-set.ts";
import type { FetchKeySet } from "./issuer-keys.ts";

const LOOPBACK = ["127.0.0.0/8", "::1/128"];

/** Administrators may name issuers in the platform's own network, but not this machine, unless the configuration allows it. */
export const issuerAddresses = (configuration: Configuration): AddressRules =>
  createAddressRules({
    refuse: [...LOCAL_TO_A_LINK, ...LOOPBACK],
    allow: configuration.proxy.allowedAddresses,
    ownAddresses,
    option: "--proxy-allowed-addresses",
  });

export const fetchIssuerKeys = (
  configuration: Configuration,
  names: PlatformNames,
  scheduler: Scheduler,
): FetchKeySet =>
  createFetchKeySet({
    scheduler,
    addresses: issuerAddresses(configuration),
    tenantAddresses: tenantAddressRules(configuration),
    userAgent: names.name,
  });

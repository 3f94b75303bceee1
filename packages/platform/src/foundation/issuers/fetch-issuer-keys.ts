// Fetches the keys of issuers as the configuration of the server allows.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Configuration } from "../config/configuration.ts";
import { type AddressRules, createAddressRules, LOCAL_TO_A_LINK } from "../upstream/address-rules.ts";
import { outboundProxy } from "../upstream/outbound-proxy.ts";
import { ownAddresses, tenantAddressRules } from "../upstream/tenant-addresses.ts";
import { createFetchKeySet } from "./fetch-key-set.ts";
import type { FetchKeySet } from "./issuer-keys.ts";

const LOOPBACK = ["127.0.0.0/8", "::1/128"];

/** Administrators may name issuers in the platform's own network, but not this machine, unless the configuration allows it. */
export const issuerAddresses = (configuration: Configuration): AddressRules =>
  createAddressRules({
    refuse: [...LOCAL_TO_A_LINK, ...LOOPBACK],
    allow: configuration.proxy.allowedAddresses,
    ownAddresses,
    proxyFor: outboundProxy(configuration),
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

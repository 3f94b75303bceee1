// The connections to connected clusters, and to external virtual clusters that tenants register.

import { networkInterfaces } from "node:os";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import type { Configuration } from "../../foundation/config/configuration.ts";
import type { Foundation } from "../../foundation/foundation.ts";
import { type AddressRules, createAddressRules, LOCAL_TO_A_LINK, PRIVATE_NETWORKS } from "../proxy/address-rules.ts";
import { createClusterConnections } from "./kubernetes-backend/cluster-connections.ts";
import { createKubernetesBackends, type KubernetesBackends } from "./kubernetes-backend/kubernetes-backends.ts";

/** `tracing` undefined: no tracing. */
export function reachClusters(
  { configuration, names, runtime, lookup }: Pick<Foundation, "configuration" | "names" | "runtime" | "lookup">,
  tracing: Tracing | undefined,
): KubernetesBackends & Disposable {
  const { scheduler } = runtime;
  const shared = { scheduler, userAgent: names.name, tracing };
  const connected = createClusterConnections({ ...shared, addresses: createAddressRules() });
  const addresses = tenantAddressRules(configuration);
  const external = createClusterConnections({ ...shared, addresses });
  return {
    ...createKubernetesBackends({ names, runtime, lookup, secret: lookup.secret, connected, external, addresses }),
    [Symbol.dispose]() {
      connected[Symbol.dispose]();
      external[Symbol.dispose]();
    },
  };
}

/** A registered target must not make the platform connect to addresses in its own network. */
export const tenantAddressRules = ({ proxy }: Pick<Configuration, "proxy">): AddressRules =>
  createAddressRules({
    refuse: [...LOCAL_TO_A_LINK, ...PRIVATE_NETWORKS],
    allow: proxy.allowedAddresses,
    ownAddresses,
    option: "--proxy-allowed-addresses",
  });

/** Addresses of this machine. Determined for each connection: interfaces may change at any time. */
export const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));

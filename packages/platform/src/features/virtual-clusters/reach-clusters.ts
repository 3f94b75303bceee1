// The connections to connected clusters, and to external virtual clusters that tenants register.

import { networkInterfaces } from "node:os";
import type { PlatformNames } from "@postern/api/platform-names";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import type { Configuration } from "../../foundation/config/configuration.ts";
import type { ObjectLookup } from "../../foundation/lookup/object-lookup.ts";
import { type AddressRules, createAddressRules, LOCAL_TO_A_LINK, PRIVATE_NETWORKS } from "../proxy/address-rules.ts";
import { createClusterConnections } from "./kubernetes-backend/cluster-connections.ts";
import {
  createKubernetesBackends,
  type KubernetesBackends,
  type KubernetesBackendsDeps,
} from "./kubernetes-backend/kubernetes-backends.ts";

export type ReachClustersDeps = {
  readonly configuration: Configuration;
  readonly names: PlatformNames;
  readonly runtime: Runtime;
  readonly lookup: ObjectLookup;
  readonly secret: KubernetesBackendsDeps["secret"];
  /** Undefined: no tracing. */
  readonly tracing: Tracing | undefined;
};

export function reachClusters({
  configuration,
  names,
  runtime,
  lookup,
  secret,
  tracing,
}: ReachClustersDeps): KubernetesBackends & Disposable {
  const { scheduler } = runtime;
  const shared = { scheduler, userAgent: names.name, tracing };
  const connected = createClusterConnections({ ...shared, addresses: createAddressRules() });
  const addresses = tenantAddressRules(configuration);
  const external = createClusterConnections({ ...shared, addresses });
  return {
    ...createKubernetesBackends({ names, runtime, lookup, secret, connected, external, addresses }),
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

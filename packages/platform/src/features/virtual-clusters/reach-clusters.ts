// The connections to connected clusters, and to external virtual clusters that tenants register.

import type { Tracing } from "@postern/apiserver/tracing/tracing";
import type { Foundation } from "../../foundation/foundation.ts";
import { createAddressRules } from "../../foundation/upstream/address-rules.ts";
import { createConnectionSums } from "../../foundation/upstream/connection-sums.ts";
import { outboundProxy } from "../../foundation/upstream/outbound-proxy.ts";
import { tenantAddressRules } from "../../foundation/upstream/tenant-addresses.ts";
import type { TunnelRegistry } from "../cluster-tunnels/tunnel-registry.ts";
import { createClusterConnections } from "./kubernetes-backend/cluster-connections.ts";
import { createKubernetesBackends, type KubernetesBackends } from "./kubernetes-backend/kubernetes-backends.ts";
import { createTunnelConnections } from "./kubernetes-backend/tunnel-source.ts";

/** `tracing` undefined: no tracing. `tunnels`: of the agents of clusters. */
export function reachClusters(
  {
    configuration,
    share,
    names,
    runtime,
    lookup,
  }: Pick<Foundation, "configuration" | "share" | "names" | "runtime" | "lookup">,
  tracing: Tracing | undefined,
  tunnels: Pick<TunnelRegistry, "dialer" | "of">,
): KubernetesBackends & Disposable {
  const { scheduler } = runtime;
  const sums = createConnectionSums(share);
  const shared = { scheduler, userAgent: names.name, tracing, sums };
  const ofAdministrators = createAddressRules({ proxyFor: outboundProxy(configuration) });
  const connected = createClusterConnections({ ...shared, addresses: ofAdministrators });
  const addresses = tenantAddressRules(configuration);
  const external = createClusterConnections({ ...shared, addresses });
  const tunnelled = createTunnelConnections(tunnels, { ...shared, addresses: createAddressRules() });
  return {
    ...createKubernetesBackends({
      names,
      runtime,
      lookup,
      secret: lookup.secret,
      connected,
      external,
      tunnelled,
      addresses,
    }),
    [Symbol.dispose]() {
      connected[Symbol.dispose]();
      external[Symbol.dispose]();
      tunnelled[Symbol.dispose]();
    },
  };
}

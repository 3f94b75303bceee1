// What is said about clusters that can only be reached by a connection of their own to the platform.

import type { UpstreamFault } from "./upstream-failure.ts";

export const NETWORK_PEER_NOT_SERVED: UpstreamFault = {
  reason: "NetworkPeerNotServed",
  message:
    "spec.networkPeer says that it connects to the platform by itself, which this release does not serve: clear it, and give a kube config",
};

/** For whoever writes the field. */
export const networkPeerWarnings = (networkPeer: boolean | undefined): readonly string[] =>
  networkPeer === true ? ["spec.networkPeer: this release reaches clusters by a kube config alone"] : [];

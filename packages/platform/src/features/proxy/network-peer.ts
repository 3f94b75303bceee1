// Warnings about virtual clusters that are only reachable through a connection of their own to the platform. Connected clusters have agents.

import type { UpstreamFault } from "../../foundation/upstream/upstream-failure.ts";

export const NETWORK_PEER_NOT_SERVED: UpstreamFault = {
  reason: "NetworkPeerNotServed",
  message: "spec.networkPeer: agents connect clusters, not virtual clusters: unset it, and provide a kubeconfig",
};

/** For the writer of the field. */
export const networkPeerWarnings = (networkPeer: boolean | undefined): readonly string[] =>
  networkPeer === true ? ["spec.networkPeer: this release connects to virtual clusters by kubeconfig only"] : [];

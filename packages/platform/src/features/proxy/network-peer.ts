// Warnings about clusters that are only reachable through a connection of their own to the platform.

import type { UpstreamFault } from "./upstream-failure.ts";

export const NETWORK_PEER_NOT_SERVED: UpstreamFault = {
  reason: "NetworkPeerNotServed",
  message: "spec.networkPeer: this release does not support agents: unset it, and provide a kubeconfig",
};

/** For whoever writes the field. */
export const networkPeerWarnings = (networkPeer: boolean | undefined): readonly string[] =>
  networkPeer === true ? ["spec.networkPeer: this release connects to clusters by kubeconfig only"] : [];

// Virtual clusters that the platform runs, and that say they connect themselves.

import { isTunnelled, type VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { UpstreamFault } from "../../foundation/upstream/upstream-failure.ts";

export const NETWORK_PEER_NOT_SERVED: UpstreamFault = {
  reason: "NetworkPeerNotServed",
  message: "spec.networkPeer: an agent connects a virtual cluster that others run: set spec.external, or unset it",
};

/** For the writer of the field. */
export const networkPeerWarnings = (instance: Pick<VirtualClusterInstance, "spec">): readonly string[] =>
  instance.spec?.networkPeer === true && !isTunnelled(instance) ? [NETWORK_PEER_NOT_SERVED.message] : [];

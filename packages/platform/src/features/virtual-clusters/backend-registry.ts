// Finds the backend of a virtual cluster instance, from its spec and its cluster.

import { isLocalCluster } from "@postern/api/cluster";
import { isRunByOthers, type VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { ObjectLookup } from "../../foundation/lookup/object-lookup.ts";
import { NETWORK_PEER_NOT_SERVED } from "../proxy/network-peer.ts";
import type { VirtualClusterBackend } from "./virtual-cluster-backend.ts";

export type BackendRegistry = {
  /** Throws ApiError 503 if the instance cannot be reached now, or not by this release. */
  backendOf(instance: VirtualClusterInstance): VirtualClusterBackend;
};

export function createBackendRegistry(deps: {
  readonly lookup: Pick<ObjectLookup, "cluster">;
  /** By the uid of the instance. */
  readonly embedded: (uid: string) => VirtualClusterBackend;
  /** Backends that are reached with a kubeconfig: external virtual clusters, and those in connected clusters. */
  readonly kubernetes: (instance: VirtualClusterInstance) => VirtualClusterBackend;
}): BackendRegistry {
  const { lookup, embedded, kubernetes } = deps;
  return {
    backendOf(instance) {
      const { spec, metadata } = instance;
      if (isRunByOthers(instance)) return kubernetes(instance);
      if (spec?.networkPeer === true)
        throw unreachable(NETWORK_PEER_NOT_SERVED.reason, NETWORK_PEER_NOT_SERVED.message);
      const name = spec?.clusterRef?.cluster ?? "";
      const cluster = name === "" ? undefined : lookup.cluster(name);
      if (cluster === undefined) throw unreachable("ClusterNotFound", `cluster ${JSON.stringify(name)} does not exist`);
      return isLocalCluster(cluster) ? embedded(metadata.uid ?? "") : kubernetes(instance);
    },
  };
}

/** `cause` is the reason in the details of the Status. */
const unreachable = (cause: string, message: string): ApiError =>
  new ApiError({
    code: 503,
    reason: "ServiceUnavailable",
    message: `the virtual cluster cannot be reached: ${message}`,
    details: { causes: [{ reason: cause, message }] },
  });
